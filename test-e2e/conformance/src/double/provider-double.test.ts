import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { roomMs } from '@gateway/testkit/room';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ask, GatewayClient } from '../target/gateway-client.ts';
import type { ProviderDouble } from './provider-double.ts';
import { startProviderDouble } from './provider-double.ts';
import { unknownModel, wrongToken } from './refusals.ts';
import type { Script } from './script.ts';

describe('the provider double', () => {
  let double: ProviderDouble;
  let client: GatewayClient;

  beforeAll(async () => {
    double = await startProviderDouble();
    client = new GatewayClient(
      { url: double.url, token: 'account-one', models: {} },
      AbortSignal.timeout(roomMs(30_000)),
    );
  });

  afterAll(async () => {
    await client[Symbol.asyncDispose]();
    await double[Symbol.asyncDispose]();
  });

  const script: Script = {
    parts: [
      { kind: 'reasoning', text: 'Let me think.' },
      { kind: 'text', text: 'It is sunny.' },
      { kind: 'tool-call', id: 'call_1', name: 'weather', arguments: '{"city":"Amsterdam"}' },
    ],
    usage: { input: 20, cached: 5, output: 12, reasoning: 4 },
  };

  it('answers in chat completions', async () => {
    using scripted = double.script(script);
    const body = { model: 'm', messages: [{ role: 'user', content: `Hello ${scripted.marker}` }] };
    expect((await client.ask('chat', { body })).json()).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'It is sunny.',
            tool_calls: [
              { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Amsterdam"}' } },
            ],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: {
        prompt_tokens: 20,
        completion_tokens: 12,
        total_tokens: 32,
        prompt_tokens_details: { cached_tokens: 5 },
        completion_tokens_details: { reasoning_tokens: 4 },
      },
    });
    const streamed = { ...body, stream: true, stream_options: { include_usage: true } };
    const { events, end } = await (await client.stream('chat', { body: streamed })).all();
    expect(end).toBe('whole');
    expect(events.at(-1)?.data).toBe('[DONE]');
    const chunks = events.slice(0, -1).map((event) => event.json() as ChatChunk);
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    expect(deltas[0]).toMatchObject({ role: 'assistant', content: '' });
    expect(deltas.map(({ content }) => content ?? '').join('')).toBe('It is sunny.');
    expect(deltas.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => call.function.arguments)).join('')).toBe(
      '{"city":"Amsterdam"}',
    );
    expect(chunks.map(({ usage }) => usage?.total_tokens).filter(Boolean)).toEqual([32]);
    expect(scripted.received.map(({ path, credential }) => [path, credential])).toEqual(
      Array(2).fill(['/v1/chat/completions', 'account-one']),
    );
    expect(await Promise.all(scripted.received.map(({ outcome }) => outcome))).toEqual(['sent', 'sent']);
  });

  it('answers in Responses', async () => {
    using scripted = double.script(script);
    const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: scripted.marker }] }];
    const whole = (await client.ask('responses', { body: { model: 'm', input } })).json();
    const expected = {
      object: 'response',
      status: 'completed',
      output: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Let me think.' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It is sunny.' }] },
        { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Amsterdam"}' },
      ],
      usage: {
        input_tokens: 20,
        input_tokens_details: { cached_tokens: 5 },
        output_tokens: 12,
        output_tokens_details: { reasoning_tokens: 4 },
        total_tokens: 32,
      },
    };
    expect(whole).toMatchObject(expected);
    const { events } = await (await client.stream('responses', { body: { model: 'm', input, stream: true } })).all();
    const datas = events.map((event) => event.json() as ResponsesEvent);
    expect(datas.map(({ type }) => type)).toEqual(events.map(({ event }) => event));
    expect(datas.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
    expect(datas.slice(0, 3).map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
    ]);
    expect(datas.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('')).toBe(
      'It is sunny.',
    );
    expect(datas.at(-1)).toMatchObject({ type: 'response.completed', response: expected });
  });

  it('answers in Messages', async () => {
    using scripted = double.script(script);
    const body = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: scripted.marker }] };
    expect((await client.ask('messages', { body })).json()).toMatchObject({
      type: 'message',
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Let me think.' },
        { type: 'text', text: 'It is sunny.' },
        { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Amsterdam' } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 15, cache_read_input_tokens: 5, output_tokens: 12 },
    });
    expect((await client.ask('count-tokens', { body })).json()).toEqual({ input_tokens: 20 });
    const { events } = await (await client.stream('messages', { body: { ...body, stream: true } })).all();
    expect(events.map(({ event }) => event).filter((name) => name !== 'content_block_delta')).toEqual([
      'message_start',
      ...['content_block_start', 'ping', 'content_block_stop'],
      ...['content_block_start', 'content_block_stop'],
      ...['content_block_start', 'content_block_stop'],
      ...['message_delta', 'message_stop'],
    ]);
    expect(events.at(-2)?.json()).toMatchObject({ delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 12 } });
  });

  it.each([
    ['length', 'length', { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, 'max_tokens'],
    ['content-filter', 'content_filter', { incomplete_details: { reason: 'content_filter' } }, 'refusal'],
  ] as const)('says in each format that an answer ended by %s', async (finish, chat, responses, messages) => {
    using scripted = double.script({ finish });
    const body = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: scripted.marker }] };
    expect((await client.ask('chat', { body })).json()).toMatchObject({ choices: [{ finish_reason: chat }] });
    const input = body.messages;
    expect((await client.ask('responses', { body: { model: 'm', input } })).json()).toMatchObject(responses);
    expect((await client.ask('messages', { body })).json()).toMatchObject({ stop_reason: messages });
  });

  it('refuses so often, and then answers', async () => {
    const fault = { kind: 'refuse', status: 429, headers: { 'retry-after': '7' } } as const;
    using scripted = double.script({ fault, faultForFirst: 1 });
    const ask = { body: { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: scripted.marker }] } };
    const refusal = await client.ask('messages', ask);
    expect(refusal).toMatchObject({ status: 429, headers: { 'retry-after': '7' } });
    expect(refusal.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
    expect((await client.ask('messages', ask)).status).toBe(200);
  });

  it('cuts, fails and falls silent in a stream as scripted', async () => {
    const streamed = async (fault: NonNullable<Script['fault']>) => {
      const scripted = double.script({ fault });
      const body = { model: 'm', stream: true, messages: [{ role: 'user', content: scripted.marker }] };
      return { scripted, stream: await client.stream('chat', { body }) };
    };
    const cut = await streamed({ kind: 'cut-after-events', events: 2 });
    expect(await cut.stream.all()).toMatchObject({ end: 'cut', events: { length: 2 } });
    expect(await cut.scripted.received[0]?.outcome).toBe('sent');
    const failing = await streamed({ kind: 'error-event-after', events: 1, message: 'overloaded' });
    const { events, end } = await failing.stream.all();
    expect([events.length, end, events[1]?.json()]).toMatchObject([2, 'whole', { error: { message: 'overloaded' } }]);
    const silent = await streamed({ kind: 'silent-after-events', events: 1 });
    for await (const _first of silent.stream.events()) break;
    expect(await silent.scripted.received[0]?.outcome).toBe('hung-up');
    await expect(streamed({ kind: 'cut-before-answer' })).rejects.toThrow('no answer');
  });

  it('cuts on the scripted connections, and closes idle ones', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    /** The status; the error's message if there is none. */
    const ask = async (text: string) => {
      const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: text }] });
      const headers = { authorization: 'Bearer account', 'content-type': 'application/json' };
      const asking = request(`${double.url}/v1/chat/completions`, { method: 'POST', agent, headers });
      const answered = once(asking.end(body), 'response') as Promise<[IncomingMessage]>;
      const response = await answered.then(([response]) => response).catch(() => undefined);
      await response?.resume().toArray();
      return response?.statusCode ?? 'cut';
    };
    using ofNew = double.script({ fault: { kind: 'cut-before-answer', connection: 'new' } });
    using ofReused = double.script({ fault: { kind: 'cut-before-answer', connection: 'reused' }, faultForFirst: 1 });
    expect(await ask(ofNew.marker)).toBe('cut');
    expect(await ask(ofReused.marker)).toBe(200);
    expect(await ask(ofNew.marker)).toBe(200);
    expect(await ask(ofReused.marker)).toBe('cut');
    expect(await ask(ofReused.marker)).toBe(200);
    expect(await ask(ofReused.marker)).toBe(200);
    expect(ofReused.received.map(({ isOnReusedConnection }) => isOnReusedConnection)).toEqual([
      false,
      true,
      false,
      true,
    ]);
    double.closeIdleConnections();
    await expect.poll(() => Object.keys(agent.freeSockets)).toEqual([]);
    expect(await ask(ofNew.marker)).toBe('cut');
    agent.destroy();
  });

  it("refuses a provider's invalid requests, in the format of the endpoint", async () => {
    const good = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
    const statusOf = async (ask: Ask) => {
      const answer = await client.ask('messages', ask);
      expect(answer.json()).toMatchObject({ type: 'error', error: { message: expect.any(String) } });
      return answer.status;
    };
    expect(await statusOf({ body: '{' })).toBe(400);
    expect(await statusOf({ body: { ...good, max_tokens: 'ten' } })).toBe(400);
    expect(await statusOf({ body: { ...good, model: unknownModel } })).toBe(404);
    expect(await statusOf({ body: good, as: 'none' })).toBe(401);
    expect(await statusOf({ body: good, as: 'none', headers: { 'x-api-key': wrongToken } })).toBe(401);
    // A gateway's header for a missing credential.
    expect(await statusOf({ body: good, as: 'none', headers: { authorization: 'Bearer undefined' } })).toBe(401);
  });

  it('lists its models in the shape that is asked for', async () => {
    const openai = await client.ask('models');
    expect(openai.json()).toMatchObject({ object: 'list', data: [{ id: 'gpt-5.5', object: 'model' }, {}] });
    const anthropic = await client.ask('models', { headers: { 'anthropic-version': '2023-06-01' } });
    expect(anthropic.json()).toMatchObject({ data: [{ type: 'model', id: 'claude-sonnet-5' }, {}], has_more: false });
  });
});

interface ChatChunk {
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string;
      readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
    };
  }[];
  readonly usage?: { readonly total_tokens: number } | null;
}

interface ResponsesEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly delta?: string;
}
