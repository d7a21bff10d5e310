import type OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { openAiClient } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const weatherParameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

const input = (text: string): OpenAI.Responses.ResponseInputItem[] => [
  { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
];

/** The official `openai` package. */
export function openAiSdkBehaviour(gateway: () => Topology): void {
  describe('the openai package', () => {
    let client: OpenAI;
    beforeAll(async () => {
      client = openAiClient(gateway(), (await issueToken(gateway(), { kind: 'personal' })).text);
    });

    describe.each(['gateway/sterk', 'gateway/claude', 'gpt-5.5-mini', 'claude-opus-4-8'])(
      'on chat with %s',
      (model) => {
        const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Grüße 🌍' }];

        it('gets a completion', async () => {
          const { data, response } = await client.chat.completions.create({ model, messages }).withResponse();
          expect(data.choices[0]).toMatchObject({ index: 0, finish_reason: 'stop', message: { role: 'assistant' } });
          expect(data.choices[0]?.message.content).toContain('Grüße 🌍');
          expect(data.usage?.total_tokens).toBeGreaterThan(0);
          expect(response.headers.get('x-gateway-model')).toBe(data.model);
        });

        it('iterates over the raw chunks', async () => {
          const options = { model, messages, stream: true, stream_options: { include_usage: true } } as const;
          const chunks: OpenAI.ChatCompletionChunk[] = [];
          for await (const chunk of await client.chat.completions.create(options)) chunks.push(chunk);
          expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toContain('Grüße 🌍');
          expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
          expect(chunks.at(-1)?.choices).toEqual([]);
          expect(chunks.at(-1)?.usage?.completion_tokens).toBeGreaterThan(0);
        });

        it('puts a stream together', async () => {
          const stream = client.chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
          const completion = await stream.finalChatCompletion();
          expect(completion.choices[0]?.message.content).toContain('Grüße 🌍');
          expect((await stream.totalUsage()).total_tokens).toBeGreaterThan(0);
        });

        it.each([true, false])('runs tools to the final answer, streamed: %s', async (stream) => {
          const asked: string[] = [];
          const tool = {
            type: 'function' as const,
            function: {
              name: 'weather',
              description: 'Weather of a city',
              parameters: weatherParameters,
              parse: (text: string) => JSON.parse(text) as { city: string },
              function: ({ city }: { city: string }) => {
                asked.push(city);
                return `rain in ${city}`;
              },
            },
          };
          const content = '#tool weather {"city":"Delft"} #tool weather {"city":"Gent"}';
          const params = { model, messages: [{ role: 'user' as const, content }], tools: [tool] };
          const runner = stream
            ? client.chat.completions.runTools({ ...params, stream: true })
            : client.chat.completions.runTools(params);
          const answer = await runner.finalContent();
          expect(asked).toEqual(['Delft', 'Gent']);
          expect(answer).toContain('rain in Delft');
          expect(answer).toContain('rain in Gent');
        });

        it('parses an answer that fits a JSON schema', async () => {
          const schema = {
            type: 'object',
            properties: { city: { type: 'string' }, days: { type: 'array', items: { type: 'integer' } } },
            required: ['city', 'days'],
            additionalProperties: false,
          };
          const { choices } = await client.chat.completions.parse({
            model,
            messages,
            response_format: { type: 'json_schema', json_schema: { name: 'forecast', strict: true, schema } },
          });
          expect(choices[0]?.message.parsed).toEqual({ city: expect.any(String), days: expect.any(Array) });
        });
      },
    );

    describe('on responses', () => {
      it('gets the final text of a stream', async () => {
        const events: string[] = [];
        const stream = client.responses.stream({ model: 'gpt-5.5', input: input('Grüße 🌍 #reason 7') });
        stream.on('event', ({ type }) => events.push(type));
        const response = await stream.finalResponse();
        expect(response.output_text).toContain('Grüße 🌍');
        expect(response.status).toBe('completed');
        expect(response.usage?.output_tokens_details.reasoning_tokens).toBe(7);
        expect(events[0]).toBe('response.created');
        expect(events).toContain('response.output_text.delta');
        expect(events.at(-1)).toBe('response.completed');
      });

      it('gets the final text of a backend that leaves the final output empty', async () => {
        const account = 'responses-gpt-empty-a';
        const id = gateway().simulator.faults.add({ account, fault: { kind: 'empty_output' } });
        const stream = client.responses.stream({ model: 'gpt-empty', input: input('still here #reason 3') });
        const response = await stream.finalResponse();
        gateway().simulator.faults.clear(id);
        expect(gateway().simulator.requests({ account, path: '/v1/responses', limit: 1 })[0]?.faults).toEqual([
          'empty_output',
        ]);
        expect(response.output_text).toBe('echo: still here');
        expect(response.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
      });

      it('gets a call of a tool and gives its result', async () => {
        const tools: OpenAI.Responses.Tool[] = [
          { type: 'function', name: 'weather', parameters: weatherParameters, strict: false },
        ];
        const items = input('#tool weather {"city":"Delft"}');
        const first = await client.responses.stream({ model: 'gpt-6', input: items, tools }).finalResponse();
        const call = first.output.find((item) => item.type === 'function_call');
        expect(call).toMatchObject({ name: 'weather', arguments: '{"city":"Delft"}' });
        const output = { type: 'function_call_output', call_id: call?.call_id ?? '', output: 'rain' } as const;
        const calls = call === undefined ? [] : [call];
        const second = await client.responses
          .stream({ model: 'gpt-6', input: [...items, ...calls, output], tools })
          .finalResponse();
        expect(second.output_text).toContain('weather returned: rain');
      });

      it('iterates over the raw events', async () => {
        const stream = await client.responses.create({
          model: 'gpt-5.5-mini',
          input: input('hello'),
          stream: true,
          store: true,
          max_output_tokens: 1,
        });
        const types: string[] = [];
        for await (const { type } of stream) types.push(type);
        expect(types[0]).toBe('response.created');
        // One token would have cut the answer, if the limit had been forwarded.
        expect(types.at(-1)).toBe('response.completed');
      });
    });

    it('lists the models', async () => {
      const ids: string[] = [];
      for await (const model of client.models.list()) {
        expect(model).toMatchObject({ object: 'model', created: 0 });
        ids.push(model.id);
      }
      expect(ids).toContain('gateway/sterk');
      expect(ids).toContain('gpt-5.5');
    });
  });
}
