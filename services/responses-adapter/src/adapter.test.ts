import { Dialect, type ExecuteResponse } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { type Simulator, startSimulator } from '@gateway/simulator';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type AdapterUnderTest,
  type Answer,
  gather,
  requestFrames,
  startAdapter,
} from './__fixtures__/adapter-under-test.ts';

let simulator: Simulator;
let adapter: AdapterUnderTest;

beforeAll(async () => {
  simulator = await startSimulator({ responsesBackend: 'subscription' });
  adapter = startAdapter(simulator.url);
});
beforeEach(() => simulator.reset());
afterAll(async () => {
  await adapter[Symbol.asyncDispose]();
  await simulator[Symbol.asyncDispose]();
});

describe('the responses adapter', () => {
  it('answers a chat request', async () => {
    const { head, outcome, body, usage } = await execute({ messages: [user('Hello')] });
    expect(head?.status).toBe(200);
    expect(outcome?.attempt?.result).toBe(AttemptResult.SUCCEEDED);
    const completion = JSON.parse(body);
    expect(completion).toMatchObject({ object: 'chat.completion', model: 'gpt-5.5' });
    expect(completion.choices[0]).toMatchObject({ finish_reason: 'stop', message: { role: 'assistant' } });
    expect(completion.choices[0].message.content).not.toBe('');
    expect(completion.usage.prompt_tokens).toBe(Number(usage?.inputTokens));
    expect(simulator.billed().total).toMatchObject({
      requests: 1,
      inputTokens: Number(usage?.inputTokens),
      outputTokens: Number(usage?.outputTokens),
    });
  });

  it('streams the same answer', async () => {
    const messages = [user('Hello #long 60')];
    const whole = JSON.parse((await execute({ messages })).body).choices[0].message.content;
    const { body, head } = await execute({ messages, stream: true });
    expect(head?.headers['content-type']).toMatch(/^text\/event-stream/);
    expect(body.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(deltasOf(body).join('')).toBe(whole);
    expect(deltasOf(body).length).toBeGreaterThan(2);
  });

  it('answers a large request as a small one, and says what is wrong with it', async () => {
    const long = 'All work and no play. '.repeat(20_000);
    const { body, usage, outcome } = await execute({ messages: [user(`${long}#long 60`)], stream: true });
    expect(outcome?.attempt?.result).toBe(AttemptResult.SUCCEEDED);
    expect(deltasOf(body)).toEqual(deltasOf((await execute({ messages: [user('#long 60')], stream: true })).body));
    expect(usage?.inputTokens).toBe(simulator.requests()[0]?.billed.inputTokens ?? -1);
    const refused = execute({ messages: [user(long), { role: 'user', content: [{ type: 'audio' }] }] });
    await expect(refused).rejects.toMatchObject({ code: 'unsupported_content' });
  });

  it.each([false, true])('carries tool calls and their results there and back (stream: %s)', async (stream) => {
    const tools = [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }];
    const messages = [user('#tool get_weather {"city":"Oslo"} #tool get_weather')];
    const { body } = await execute({ messages, tools, stream });
    expect(body).toContain('tool_calls');
    const choice = stream ? undefined : JSON.parse(body).choices[0];
    if (choice === undefined) return expect(body).toMatch(/"index":1,"id":".*"finish_reason":"tool_calls"/s);
    const calls = choice.message.tool_calls;
    expect(calls.map((call: { function: object }) => call.function)).toEqual([
      { name: 'get_weather', arguments: '{"city":"Oslo"}' },
      { name: 'get_weather', arguments: expect.stringMatching(/^\{.*\}$/) },
    ]);
    const results = calls.map((call: { id: string }) => ({ role: 'tool', tool_call_id: call.id, content: '12 °C' }));
    const next = await execute({ messages: [...messages, choice.message, ...results], tools });
    expect(next.outcome?.attempt?.result).toBe(AttemptResult.SUCCEEDED);
  });

  it('takes everything that a chat request can ask for', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    const { outcome, body } = await execute({
      messages: [
        { role: 'system', content: 'You are terse.' },
        { role: 'user', content: [{ type: 'text', text: '#reason 40 What is this?' }, image] },
        { role: 'developer', content: 'Stay terse.' },
      ],
      max_completion_tokens: 100,
      stop: ['x'],
      temperature: 1,
      reasoning_effort: 'ultra',
      response_format: { type: 'json_object' },
    });
    expect(outcome?.attempt?.result).toBe(AttemptResult.SUCCEEDED);
    const completion = JSON.parse(body);
    expect(() => JSON.parse(completion.choices[0].message.content)).not.toThrow();
    expect(completion.usage.completion_tokens_details.reasoning_tokens).toBe(40);
    expect(simulator.requests()[0]?.json).toMatchObject({
      reasoning: { effort: 'xhigh' },
      prompt_cache_key: 'session',
    });
  });

  it.each([
    ['#refuse', 'refusal', 'stop'],
    ['#incomplete', 'content', 'length'],
    ['#incomplete content_filter', 'content', 'content_filter'],
  ])('ends the answer to %s as the provider does', async (directive, member, finishReason) => {
    const [choice] = JSON.parse((await execute({ messages: [user(`Hello ${directive}`)] })).body).choices;
    expect(choice.finish_reason).toBe(finishReason);
    expect(choice.message[member]).toEqual(expect.any(String));
  });

  it.each(['unknown_events', 'split_utf8', 'usage_missing', 'empty_output'] as const)(
    'does not mind %s',
    async (kind) => {
      simulator.faults.add({ fault: { kind } });
      const { outcome, body } = await execute({ messages: [user('Grüße #long 20')], stream: true });
      expect(outcome?.attempt?.result).toBe(AttemptResult.SUCCEEDED);
      expect(deltasOf(body).join('')).not.toBe('');
    },
  );

  it('reports that an account is limited and until when, before anything reached the client', async () => {
    simulator.faults.add({ fault: { preset: 'usage_limit_reached', resetAfterSeconds: 3_600 } });
    const { head, outcome } = await execute({ messages: [user('Hello')] });
    expect(head).toBeUndefined();
    expect(outcome).toMatchObject({
      attempt: { result: AttemptResult.RATE_LIMITED },
      error: { code: 'pool_exhausted' },
    });
    expect(outcome?.attempt?.retryAtMs).toBeGreaterThan(Date.now() + 3_000_000);
  });

  it('leaves a stream that fails before its first content to another attempt', async () => {
    simulator.faults.add({ fault: { kind: 'failed', error: { code: 'rate_limit_exceeded' } } });
    const { head, outcome } = await execute({ messages: [user('Hello')], stream: true });
    expect(head).toBeUndefined();
    expect(outcome?.attempt?.result).toBe(AttemptResult.RATE_LIMITED);
  });

  it('ends a stream that breaks after its first content with an error and no finish reason', async () => {
    simulator.faults.add({ fault: { kind: 'end' } });
    const { head, outcome, body } = await execute({ messages: [user('Hello #long 20')], stream: true });
    expect(head?.status).toBe(200);
    expect(outcome?.attempt?.result).toBe(AttemptResult.SERVER_ERROR);
    expect(body).not.toContain('"finish_reason":"');
    expect(body).not.toContain('[DONE]');
  });

  it('closes the connection to the provider when the call is cancelled', async () => {
    simulator.faults.add({ fault: { kind: 'delay', betweenEventsMs: 20 } });
    const cancel = new AbortController();
    const frames = adapter.client.execute(chatFrames({ messages: [user('#long 1000')], stream: true }), {
      signal: cancel.signal,
    });
    await expect(readUntilContent(frames, cancel)).rejects.toThrow();
    await expect.poll(() => simulator.requests()[0]?.outcome).toBe('cancelled');
  });

  it('lists the models of a pool', async () => {
    const { models } = await adapter.client.listModels({ pool: 'responses' });
    expect(models.map((model) => model.id)).toEqual(['gpt-5.5', 'gpt-5.5-mini', 'gpt-6']);
  });

  it('reports to the broker which models its pools offer', async () => {
    await adapter.service.start();
    await expect
      .poll(() => adapter.reports)
      .toContainEqual({
        pool: 'responses',
        reachable: true,
        models: ['gpt-5.5', 'gpt-5.5-mini', 'gpt-6'],
      });
  });

  it('has no count of tokens', async () => {
    await expect(adapter.client.countTokens(chatFrames({ messages: [user('Hi')] }))).rejects.toMatchObject({
      code: 'model_not_found',
    });
  });
});

async function execute(request: object): Promise<Answer> {
  return gather(adapter.client.execute(chatFrames(request)));
}

function chatFrames(request: object) {
  const body = JSON.stringify({ model: 'gateway/sterk', ...request });
  return requestFrames({ dialect: Dialect.CHAT_COMPLETIONS, body });
}

async function readUntilContent(frames: AsyncIterable<ExecuteResponse>, cancel: AbortController): Promise<void> {
  for await (const frame of frames) if (frame.body.length > 0) cancel.abort();
}

function deltasOf(body: string): readonly string[] {
  const data = body.split('\n\n').filter((block) => block !== '' && block !== 'data: [DONE]');
  const chunks = data.map((block) => JSON.parse(block.slice('data: '.length)));
  return chunks.map((chunk) => chunk.choices[0]?.delta.content).filter(Boolean);
}

function user(content: string): object {
  return { role: 'user', content };
}
