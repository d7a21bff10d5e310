import type Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { beforeAll, describe, expect, it } from 'vitest';
import { anthropicClient } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const weatherTool = {
  name: 'weather',
  description: 'Weather of a city',
  input_schema: {
    type: 'object' as const,
    properties: { city: { type: 'string' as const } },
    required: ['city'],
  },
};

const user = (content: string) => [{ role: 'user' as const, content }];
const textOf = (content: readonly { type: string }[]) =>
  content.map((block) => ('text' in block ? block.text : '')).join('');

/** The official `@anthropic-ai/sdk` package. */
export function anthropicSdkBehaviour(gateway: () => Topology): void {
  describe('the @anthropic-ai/sdk package', () => {
    let client: Anthropic;
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
      client = anthropicClient(gateway(), token);
    });

    describe.each(['gateway/claude', 'claude-haiku-4-5'])('with %s', (model) => {
      it('gets a message', async () => {
        const message = await client.messages.create({ model, max_tokens: 500, messages: user('Grüße 🌍') });
        expect(message).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn' });
        expect(message.id).toMatch(/^msg_/);
        expect(textOf(message.content)).toBe('echo: Grüße 🌍');
        expect(message.usage.output_tokens).toBeGreaterThan(0);
      });

      it('puts a stream together', async () => {
        const pieces: string[] = [];
        const stream = client.messages.stream({ model, max_tokens: 500, messages: user('Grüße 🌍 #reason 9') });
        stream.on('text', (piece) => pieces.push(piece));
        const message = await stream.finalMessage();
        expect(message.content.map(({ type }) => type)).toEqual(['thinking', 'text']);
        expect(await stream.finalText()).toBe('echo: Grüße 🌍');
        expect(pieces.join('')).toBe('echo: Grüße 🌍');
        expect(message.stop_reason).toBe('end_turn');
        expect(message.usage.output_tokens).toBeGreaterThan(9);
      });

      it.each([true, false])('gets calls of tools and gives their results, streamed: %s', async (streamed) => {
        const messages = user('#tool weather {"city":"Delft"} #tool weather {"city":"Gent"}');
        const first = { model, max_tokens: 500, messages, tools: [weatherTool] };
        const called = streamed
          ? await client.messages.stream(first).finalMessage()
          : await client.messages.create(first);
        expect(called.stop_reason).toBe('tool_use');
        const uses = called.content.filter((block) => block.type === 'tool_use');
        expect(uses.map((use) => use.input)).toEqual([{ city: 'Delft' }, { city: 'Gent' }]);
        const results = uses.map((use) => ({
          type: 'tool_result' as const,
          tool_use_id: use.id,
          content: `rain, says ${use.id}`,
        }));
        const answered = await client.messages.create({
          ...first,
          messages: [...messages, { role: 'assistant', content: uses }, { role: 'user', content: results }],
        });
        for (const use of uses) expect(textOf(answered.content)).toContain(`rain, says ${use.id}`);
      });

      it("counts tokens: fewer than the message's, which includes the account's own prompt", async () => {
        const counted = await client.messages.countTokens({ model, messages: user('count these tokens') });
        expect(counted).toEqual({ input_tokens: expect.any(Number) });
        const message = await client.messages.create({ model, max_tokens: 9, messages: user('count these tokens') });
        expect(message.usage.input_tokens).toBeGreaterThan(counted.input_tokens);
      });
    });

    it('sends betas that reach the provider, through its beta methods', async () => {
      const betas = ['context-management-2025-06-27', 'one-more-2026-01-01'];
      const message = await client.beta.messages.create({
        model: 'gateway/bytes',
        max_tokens: 100,
        betas,
        context_management: { edits: [] },
        messages: user('hello'),
      });
      expect(textOf(message.content)).toBe('echo: hello');
      const received = gateway().simulator.requests({ account: 'bytes-a', path: '/v1/messages', limit: 1 })[0];
      expect(received?.headers['anthropic-beta']).toBe(betas.join(','));
      expect(received?.json).toMatchObject({ context_management: { edits: [] } });
      const counted = await client.beta.messages.countTokens({
        model: 'gateway/bytes',
        betas,
        messages: user('hello'),
      });
      expect(counted.input_tokens).toBeGreaterThan(0);
    });

    const runTool = async (onRun: () => void) => {
      const cities: string[] = [];
      const runner = client.beta.messages.toolRunner({
        model: 'gateway/threads',
        max_tokens: 500,
        messages: user('#tool weather {"city":"Delft"}'),
        tools: [
          betaTool({
            ...weatherTool,
            inputSchema: weatherTool.input_schema,
            run: ({ city }) => {
              cities.push(String(city));
              onRun();
              return `rain in ${city}`;
            },
          }),
        ],
      });
      const message = await runner.runUntilDone();
      expect(cities).toEqual(['Delft']);
      return textOf(message.content);
    };

    it('runs tools to the final answer with its tool runner, in a thread', async () => {
      const lastId = gateway().simulator.requests({ limit: 1 })[0]?.id;
      expect(await runTool(() => undefined)).toContain('rain in Delft');
      const asked = gateway().simulator.requests({ path: '/v1/messages', afterId: lastId });
      expect(asked.map(({ json }) => json)).toMatchObject([
        { thread: { type: 'create' } },
        { thread: { type: 'continue', previous_message_id: expect.stringMatching(/^msg_/) } },
      ]);
      expect(asked[1]?.account).toBe(asked[0]?.account);
    });

    it.each([
      [404, 'not_found_error', 'thread_not_found'],
      [400, 'invalid_request_error', 'thread_already_continued'],
      [400, 'invalid_request_error', 'thread_continue_in_flight'],
    ])('continues without the thread when the provider says %i %s %s', async (status, type, code) => {
      const lastId = gateway().simulator.requests({ limit: 1 })[0]?.id;
      const body = { type: 'error', error: { type, message: 'no', details: { error_code: code } } };
      const fault = { kind: 'status', status, body } as const;
      const loseThread = () => gateway().simulator.faults.add({ path: '/v1/messages', times: 1, fault });
      expect(await runTool(loseThread)).toContain('rain in Delft');
      const asked = gateway().simulator.requests({ path: '/v1/messages', afterId: lastId });
      expect(asked.map((request) => request.status)).toEqual([200, status, 200]);
      expect(asked[2]?.json).toMatchObject({ messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'user' }] });
    });

    it.each(['/v1/messages?beta=true', '/v1/messages/count_tokens?beta=true'])(
      'of earlier versions asked on %s with x-api-key',
      async (path) => {
        const response = await fetch(`${gateway().baseUrl}${path}`, {
          method: 'POST',
          headers: {
            'x-api-key': token,
            'anthropic-version': '2023-06-01',
            'anthropic-beta': 'interleaved-thinking-2025-05-14',
            'content-type': 'application/json',
          },
          body: JSON.stringify({
            model: 'gateway/claude',
            ...(path.includes('count') ? {} : { max_tokens: 100 }),
            messages: user('hello'),
          }),
        });
        expect(response.status).toBe(200);
        const answer: unknown = await response.json();
        expect(answer).toMatchObject(path.includes('count') ? { input_tokens: 2 } : { type: 'message' });
      },
    );

    it.each([
      ['a bearer token', () => client],
      [
        'x-api-key',
        () => anthropicClient(gateway(), token, { defaultHeaders: { 'x-api-key': token, authorization: null } }),
      ],
    ])('lists the models with %s', async (_how, clientOf) => {
      const ids: string[] = [];
      for await (const model of clientOf().models.list({ limit: 1_000 })) ids.push(model.id);
      expect(ids).toContain('gateway/claude');
      expect(ids).toContain('claude-sonnet-5');
    });

    it('works with x-api-key as well', async () => {
      const options = { defaultHeaders: { 'x-api-key': token, authorization: null } };
      const message = await anthropicClient(gateway(), token, options).messages.create({
        model: 'gateway/claude',
        max_tokens: 100,
        messages: user('hello'),
      });
      expect(textOf(message.content)).toBe('echo: hello');
    });
  });
}
