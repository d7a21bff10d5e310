import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { type ChatAnswer, chat, eventsOf } from '../client/chat.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const bothProviders = [
  { model: 'gateway/sterk', provider: 'provider_a', answeredBy: 'gpt-5.5' },
  { model: 'gateway/claude', provider: 'provider_b', answeredBy: 'claude-sonnet-5' },
  { model: 'gpt-5.5-mini', provider: 'provider_a', answeredBy: 'gpt-5.5-mini' },
  { model: 'claude-opus-4-8', provider: 'provider_b', answeredBy: 'claude-opus-4-8' },
] as const;

const weatherTool = {
  type: 'function' as const,
  function: {
    name: 'weather',
    description: 'Weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

/**
 * `POST /v1/chat/completions`: the answer, streamed and not. @see spec "POST /v1/chat/completions"
 */
export function chatCompletionsBehaviour(gateway: () => Topology): void {
  describe.each(bothProviders)('a chat completion of $model', ({ model, provider, answeredBy }) => {
    it('is a chat completion object that names its provider and model', async () => {
      const { text: token } = await issueToken(gateway(), { kind: 'personal' });
      const { status, headers, json } = await chat(gateway(), token, { model });
      expect(status).toBe(200);
      expect(headers.get('x-gateway-provider')).toBe(provider);
      expect(headers.get('x-gateway-model')).toBe(answeredBy);
      expect(json).toEqual({
        id: expect.stringMatching(/^chatcmpl-/),
        object: 'chat.completion',
        created: expect.any(Number),
        model: answeredBy,
        choices: [
          {
            index: 0,
            message: expect.objectContaining({ role: 'assistant', content: expect.stringContaining('Hello there') }),
            finish_reason: 'stop',
          },
        ],
        usage: {
          prompt_tokens: expect.any(Number),
          completion_tokens: expect.any(Number),
          total_tokens: expect.any(Number),
          prompt_tokens_details: { cached_tokens: expect.any(Number) },
          completion_tokens_details: { reasoning_tokens: expect.any(Number) },
        },
      });
    });

    it('streams role, content, finish reason, usage and [DONE], in this order', async () => {
      const { text: token } = await issueToken(gateway(), { kind: 'personal' });
      const body = { model, stream: true, stream_options: { include_usage: true } };
      const { status, headers, text } = await chat(gateway(), token, body);
      expect(status).toBe(200);
      expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
      expect(headers.get('x-gateway-provider')).toBe(provider);
      expect(headers.get('x-gateway-model')).toBe(answeredBy);
      const events = eventsOf(text);
      const common = { object: 'chat.completion.chunk', model: answeredBy };
      expect(events[0]).toMatchObject({
        ...common,
        choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
      });
      for (const event of events.slice(1, -3)) {
        expect(event).toMatchObject({
          ...common,
          choices: [{ index: 0, delta: { content: expect.any(String) }, finish_reason: null }],
        });
        expect(event).not.toHaveProperty('usage');
      }
      expect(events.at(-3)).toMatchObject({ ...common, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
      expect(events.at(-2)).toMatchObject({ ...common, choices: [], usage: { total_tokens: expect.any(Number) } });
      expect(events.at(-1)).toBe('[DONE]');
      expect(new Set(events.slice(0, -1).map((event) => (event as { id: string }).id)).size).toBe(1);
    });

    it('streams no usage chunk that was not asked for', async () => {
      const { text: token } = await issueToken(gateway(), { kind: 'personal' });
      const { text } = await chat(gateway(), token, { model, stream: true });
      expect(text).not.toContain('"usage"');
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    });

    it('counts reasoning and returns none of it', async () => {
      const { text: token } = await issueToken(gateway(), { kind: 'personal' });
      const messages = [{ role: 'user', content: 'think #reason 50' }];
      const { json, text } = await chat(gateway(), token, { model, messages, reasoning_effort: 'high' });
      expect(json).toMatchObject({ usage: { completion_tokens_details: { reasoning_tokens: 50 } } });
      expect(text).not.toMatch(/thinking|summary/);
    });

    it('serves the official client: text, streams, tools, images', async () => {
      const { text: apiKey } = await issueToken(gateway(), { kind: 'personal' });
      const client = new OpenAI({ apiKey, baseURL: `${gateway().baseUrl}/v1`, maxRetries: 0 });

      const streamed = client.chat.completions.stream({
        model,
        messages: [{ role: 'user', content: 'Grüße 🌍 an alle' }],
      });
      expect(await streamed.finalContent()).toContain('Grüße 🌍 an alle');

      const called = await client.chat.completions.create({
        model,
        messages: [
          { role: 'developer', content: 'Use tools.' },
          { role: 'user', content: '#tool weather {"city":"Delft"} #tool weather {"city":"Gent"}' },
        ],
        tools: [weatherTool],
      });
      const [choice] = called.choices;
      expect(choice?.finish_reason).toBe('tool_calls');
      const calls = (choice?.message.tool_calls ?? []).filter((call) => call.type === 'function');
      expect(calls.map((call) => JSON.parse(call.function.arguments))).toEqual([{ city: 'Delft' }, { city: 'Gent' }]);

      const answered = await client.chat.completions.create({
        model,
        messages: [
          { role: 'user', content: 'weather?' },
          { role: 'assistant', content: '', tool_calls: calls },
          ...calls.map((call) => ({ role: 'tool' as const, tool_call_id: call.id, content: `sunny in ${call.id}` })),
        ],
        tools: [weatherTool],
      });
      for (const call of calls) expect(answered.choices[0]?.message.content).toContain(`sunny in ${call.id}`);

      const seen = await client.chat.completions.create({
        model,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${onePixelPng}` } },
            ],
          },
        ],
      });
      expect(seen.choices[0]?.message.content).toContain('What is this?');
    });
  });

  it.each([
    ['a Responses model', 'gateway/snel'],
    ['a Messages model', 'gateway/claude'],
  ])('leaves out turns of the assistant that say nothing, with %s', async (_what, model) => {
    const { text: token } = await issueToken(gateway(), { kind: 'personal' });
    const question = { role: 'user', content: 'Who was that?' };
    const ask = (messages: readonly unknown[]) => chat(gateway(), token, { model, messages });
    const contentOf = ({ json }: ChatAnswer) => (json as OpenAI.ChatCompletion).choices[0]?.message.content;
    const expected = contentOf(await ask([question]));
    for (const silent of [{ content: null }, {}, { content: '' }, { content: [] }, { content: null, tool_calls: [] }]) {
      const turn = { role: 'assistant', ...silent };
      for (const messages of [
        [turn, question],
        [question, turn],
        [turn, question, turn, turn],
      ]) {
        const answer = await ask(messages);
        expect([answer.status, contentOf(answer)], JSON.stringify(messages)).toEqual([200, expected]);
      }
      const { status, json } = await ask([turn, turn]);
      expect([status, json]).toMatchObject([
        400,
        { error: { code: 'invalid_request', message: expect.stringMatching(/^messages must contain/) } },
      ]);
    }
  });

  it('runs tools through the official client to the final answer', async () => {
    const { text: apiKey } = await issueToken(gateway(), { kind: 'personal' });
    const client = new OpenAI({ apiKey, baseURL: `${gateway().baseUrl}/v1`, maxRetries: 0 });
    const runner = client.chat.completions.runTools({
      model: 'gateway/claude',
      messages: [{ role: 'user', content: '#tool weather {"city":"Delft"}' }],
      stream: true,
      tools: [
        {
          type: 'function',
          function: {
            ...weatherTool.function,
            parse: (text: string) => JSON.parse(text) as { city: string },
            function: ({ city }: { city: string }) => `rain in ${city}`,
          },
        },
      ],
    });
    expect(await runner.finalContent()).toContain('rain in Delft');
  });
}

const onePixelPng = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
