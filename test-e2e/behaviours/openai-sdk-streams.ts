import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { openAiClient, rejectionOf } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';
import { chatModels, messagesChatModels, responsesChatModels } from './openai-sdk-models.ts';

type ChatStream = ReturnType<OpenAI['chat']['completions']['stream']>;

const user = (content: string): OpenAI.ChatCompletionMessageParam[] => [{ role: 'user', content }];

/**
 * The stream helper of the official `openai` package: its events, the answer that it assembles, and
 * its end.
 */
export function openAiSdkStreamsBehaviour(gateway: () => Topology): void {
  describe('a stream of the openai package', () => {
    let client: OpenAI;
    beforeAll(async () => {
      client = openAiClient(gateway(), (await issueToken(gateway(), { kind: 'personal' })).text);
    });

    describe.each(chatModels)('from %s', (model) => {
      it('reports each delta with everything so far, and then the whole', async () => {
        const stream = client.chat.completions.stream({
          model,
          messages: user('Grüße 🌍 an alle, die das hier lesen'),
        });
        const { deltas, heard } = listen(stream);
        const completion = await stream.finalChatCompletion();
        const text = 'echo: Grüße 🌍 an alle, die das hier lesen';
        expect(deltas.length).toBeGreaterThan(3);
        expect(deltas.map(({ delta }) => delta).join('')).toBe(text);
        for (const [index, { snapshot }] of deltas.entries()) {
          const soFar = deltas.slice(0, index + 1).map(({ delta }) => delta);
          expect(snapshot).toBe(soFar.join(''));
        }
        expect(heard).toEqual([...deltas.map(() => 'content.delta'), `content.done ${text}`]);
        expect(completion).toMatchObject({
          id: expect.stringMatching(/^chatcmpl-/),
          object: 'chat.completion',
          choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text } }],
        });
      });

      it('reports parallel tool calls one after the other, after the text beside them', async () => {
        const stream = client.chat.completions.stream({
          model,
          messages: user('looking #tool weather {"city":"Delft"} #tool now {} #tool weather {"city":"Gent"}'),
          tools: [functionTool('weather', { city: { type: 'string' } }), functionTool('now', {})],
        });
        const { heard } = listen(stream);
        const { choices } = await stream.finalChatCompletion();
        const withoutRepeats = heard.filter((event, index) => event !== heard[index - 1]);
        expect(withoutRepeats).toEqual([
          'content.delta',
          'content.done echo: looking',
          'arguments.delta 0',
          'arguments.done 0 weather {"city":"Delft"}',
          'arguments.delta 1',
          'arguments.done 1 now {}',
          'arguments.delta 2',
          'arguments.done 2 weather {"city":"Gent"}',
        ]);
        expect(choices[0]?.finish_reason).toBe('tool_calls');
        const calls = choices[0]?.message.tool_calls ?? [];
        expect(calls.map((call) => (call.type === 'function' ? call.function : call))).toMatchObject([
          { name: 'weather', arguments: '{"city":"Delft"}' },
          { name: 'now', arguments: '{}' },
          { name: 'weather', arguments: '{"city":"Gent"}' },
        ]);
        expect(new Set(calls.map(({ id }) => id)).size).toBe(3);
      });

      it('counts reasoning in the total usage, and no chunk has any of it', async () => {
        const stream = client.chat.completions.stream({
          model,
          messages: user('why #reason 50'),
          reasoning_effort: 'high',
          stream_options: { include_usage: true },
        });
        const members = new Set<string>();
        stream.on('chunk', ({ choices }) => {
          for (const { delta } of choices) for (const member of Object.keys(delta)) members.add(member);
        });
        expect(await stream.finalContent()).toBe('echo: why');
        expect([...members]).toEqual(['role', 'content']);
        const usage = await stream.totalUsage();
        expect(usage.completion_tokens).toBeGreaterThan(50);
        expect(usage.completion_tokens_details?.reasoning_tokens).toBe(50);
      });

      it('ends with length when the answer was cut', async () => {
        const stream = client.chat.completions.stream({ model, messages: user('half a sentence #incomplete') });
        const message = await stream.finalMessage();
        expect(message.content).toContain('half a sentence');
        expect((await stream.finalChatCompletion()).choices[0]?.finish_reason).toBe('length');
      });

      it('ends with content_filter when a filter cut the answer', async () => {
        const messages = user('half a sentence #incomplete content_filter');
        const { choices } = await client.chat.completions.stream({ model, messages }).finalChatCompletion();
        expect(choices[0]).toMatchObject({
          finish_reason: 'content_filter',
          message: { content: expect.stringContaining('half a sentence') },
        });
      });
    });

    it.each(responsesChatModels)('from %s distinguishes a refusal from the text', async (model) => {
      const stream = client.chat.completions.stream({ model, messages: user('#refuse') });
      const deltas: string[] = [];
      const whole: string[] = [];
      stream.on('refusal.delta', ({ delta }) => deltas.push(delta));
      stream.on('refusal.done', ({ refusal }) => whole.push(refusal));
      const { choices } = await stream.finalChatCompletion();
      expect(deltas.length).toBeGreaterThan(1);
      expect(deltas.join('')).toBe("I can't help with that.");
      expect(whole).toEqual(["I can't help with that."]);
      expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { refusal: "I can't help with that." } });
      expect(choices[0]?.message.content ?? '').toBe('');
    });

    it.each(messagesChatModels)('from %s ends a refusal, which is text there, with content_filter', async (model) => {
      const { choices } = await client.chat.completions
        .stream({ model, messages: user('#refuse') })
        .finalChatCompletion();
      expect(choices[0]).toMatchObject({
        finish_reason: 'content_filter',
        message: { content: "I can't help with that." },
      });
    });

    it.each([
      ['gpt-leaving', { account: 'responses-gpt-leaving-a', path: '/v1/responses' }],
      ['gateway/leaving', { account: 'leaving-a', path: '/v1/messages' }],
    ] as const)(
      'from %s that is aborted ends with APIUserAbortError, and its provider is cancelled',
      async (model, whom) => {
        gateway().simulator.faults.add({ ...whom, times: 1, fault: { kind: 'delay', betweenEventsMs: 20 } });
        const stream = client.chat.completions.stream({ model, messages: user('#long 900') });
        let pieces = 0;
        stream.on('content.delta', () => {
          pieces += 1;
          if (pieces === 4) stream.abort();
        });
        const thrown = await rejectionOf(stream.finalContent());
        expect(thrown).toBeInstanceOf(OpenAI.APIUserAbortError);
        expect(stream.aborted).toBe(true);
        expect(pieces).toBe(4);
        const outcome = () => gateway().simulator.requests({ ...whom, limit: 1 })[0]?.outcome;
        await expect.poll(outcome, { interval: 20 }).toBe('cancelled');
      },
    );

    it.each(chatModels)('from %s can be left in the middle of the loop over its chunks', async (model) => {
      const stream = await client.chat.completions.create({ model, messages: user('#long 500'), stream: true });
      const contents: string[] = [];
      for await (const { choices } of stream) {
        contents.push(choices[0]?.delta.content ?? '');
        if (contents.length === 3) break;
      }
      expect(contents.join('')).toMatch(/^the gateway/);
      expect(stream.controller.signal.aborted).toBe(true);
    });
  });
}

function functionTool(name: string, properties: Record<string, unknown>): OpenAI.ChatCompletionFunctionTool {
  return { type: 'function', function: { name, parameters: { type: 'object', properties } } };
}

/** A stream's events about text and tool calls, in order. */
function listen(stream: ChatStream) {
  const deltas: { delta: string; snapshot: string }[] = [];
  const heard: string[] = [];
  stream.on('content.delta', ({ delta, snapshot }) => {
    deltas.push({ delta, snapshot });
    heard.push('content.delta');
  });
  stream.on('content.done', ({ content }) => heard.push(`content.done ${content}`));
  stream.on('tool_calls.function.arguments.delta', ({ index }) => heard.push(`arguments.delta ${index}`));
  stream.on('tool_calls.function.arguments.done', ({ index, name, arguments: text }) =>
    heard.push(`arguments.done ${index} ${name} ${text}`),
  );
  return { deltas, heard };
}
