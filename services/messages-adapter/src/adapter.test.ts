import { createAdapterContext } from '@gateway/adapter-kit';
import { AdapterService, Dialect, type ExecuteResponse } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { CredentialService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type CallOptions, type Client, directClient, directClientOf, serviceRoute } from '@gateway/rpc';
import { type Simulator, startSimulator } from '@gateway/simulator';
import { createLogger, Metrics } from '@gateway/telemetry';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readMessagesAdapterConfig } from './config.ts';
import { messagesFormat } from './format/format-definition.ts';
import { routes } from './routes.ts';

const owned = new AsyncDisposableStack();
let simulator: Simulator;
let adapter: Client<typeof AdapterService>;

beforeAll(async () => {
  simulator = owned.use(await startSimulator());
  const credentials = directClient(
    serviceRoute(CredentialService, {
      getCredential: () => ({
        accountId: 'messages/a',
        baseUrl: `${simulator.url}/v1`,
        secret: { case: 'apiKey', value: 'account-a' },
      }),
    }),
  );
  const context = owned.use(
    createAdapterContext({
      format: messagesFormat,
      config: readMessagesAdapterConfig({}),
      credentials,
      runtime: { logger: createLogger('test', 'silent'), metrics: new Metrics() },
    }),
  );
  adapter = directClientOf(routes(context), AdapterService);
});
afterAll(() => owned.disposeAsync());
beforeEach(() => simulator.reset());

/** Larger than bodies that are translated on the event loop. */
const long = 'All work and no play. '.repeat(20_000);

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

describe('the adapter at a simulated provider', () => {
  it('answers whole, at the price that the provider bills', async () => {
    const { text, usage, result } = await answerOf({ messages: [user('Hello there')] });
    const completion = JSON.parse(text);
    expect(completion).toMatchObject({ object: 'chat.completion', model: 'claude-sonnet-5' });
    expect(completion.choices[0].finish_reason).toBe('stop');
    expect(result).toBe(AttemptResult.SUCCEEDED);
    const [request] = simulator.requests();
    expect(request).toMatchObject({ status: 200, account: 'account-a', stream: true, outcome: 'completed' });
    expect(usage).toMatchObject({
      inputTokens: request?.billed.inputTokens ?? -1,
      outputTokens: request?.billed.outputTokens ?? -1,
      estimated: false,
    });
    expect(completion.usage.total_tokens).toBe(Number(usage?.inputTokens) + Number(usage?.outputTokens));
  });

  it('streams the same text', async () => {
    const whole = JSON.parse((await answerOf({ messages: [user('#long 40')] })).text);
    const { text, status } = await answerOf({ messages: [user('#long 40')], stream: true });
    expect(status).toBe(200);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(deltasOf(text).join('')).toBe(whole.choices[0].message.content);
  });

  it('answers a large request as a small one, and says what is wrong with it', async () => {
    const { text, usage, result } = await answerOf({ messages: [user(`${long}#long 40`)], stream: true });
    const small = await answerOf({ messages: [user('#long 40')], stream: true });
    expect(result).toBe(AttemptResult.SUCCEEDED);
    expect(deltasOf(text)).toEqual(deltasOf(small.text));
    expect(usage?.inputTokens).toBe(simulator.requests()[0]?.billed.inputTokens ?? -1);
    const refused = answerOf({ messages: [user(long), { role: 'user', content: [{ type: 'audio' }] }] });
    await expect(refused).rejects.toMatchObject({ code: 'unsupported_content' });
    await expect(answerOf({ messages: [user(long)], temperature: 'hot' })).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'temperature must be a number',
    });
  });

  it('makes a tool call and takes its result, thinking or not', async () => {
    const ask = user('#reason 30 #tool get_weather {"city":"Delft"}');
    const first = JSON.parse((await answerOf({ messages: [ask], tools: [weather], reasoning_effort: 'high' })).text);
    const [choice] = first.choices;
    expect(choice.finish_reason).toBe('tool_calls');
    expect(JSON.parse(choice.message.tool_calls[0].function.arguments)).toEqual({ city: 'Delft' });

    const result = { role: 'tool', tool_call_id: choice.message.tool_calls[0].id, content: 'Sunny.' };
    const messages = [ask, choice.message, result];
    for (const model of ['claude-sonnet-5', 'claude-haiku-4-5']) {
      const next = await answerOf({ messages, tools: [weather], reasoning_effort: 'high' }, { model });
      expect(next.result).toBe(AttemptResult.SUCCEEDED);
    }
  });

  it.each(['claude-opus-4-8', 'claude-sonnet-5', 'claude-haiku-4-5'])('sends %s what it takes', async (model) => {
    const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 1 } } };
    const format = { type: 'json_schema', json_schema: { name: 'answer', schema } };
    for (const reasoning_effort of ['none', 'minimal', 'high', 'ultra']) {
      for (const request of [{ response_format: format }, { tools: [weather], tool_choice: 'required' }]) {
        const { result } = await answerOf({ messages: [user('Hi')], reasoning_effort, ...request }, { model });
        expect(result).toBe(AttemptResult.SUCCEEDED);
      }
    }
  });

  it('cancels the provider when the caller leaves', async () => {
    simulator.faults.add({ fault: { kind: 'stall', afterEvents: 8 } });
    const leave = new AbortController();
    const frames = send({ messages: [user('#long 100')], stream: true }, {}, { signal: leave.signal });
    await expect(async () => {
      for await (const frame of frames) if (frame.body.length > 0) leave.abort();
    }).rejects.toThrow();
    await expect.poll(() => simulator.requests()[0]?.outcome).toBe('cancelled');
  });

  it('says when a limited account is free again', async () => {
    simulator.faults.add({ fault: { preset: 'unified_rejected', resetAfterSeconds: 600 } });
    const { outcome, text } = await answerOf({ messages: [user('Hi')], stream: true });
    expect(outcome).toMatchObject({
      attempt: { result: AttemptResult.RATE_LIMITED, modelScoped: false, upstreamStatus: 429 },
      error: { code: 'pool_exhausted' },
    });
    for (const said of [outcome?.attempt, outcome?.error]) expect(said?.retryAfterMs).toBeGreaterThan(0);
    expect(text).toBe('');
  });

  it('can be tried elsewhere when the stream begins with an error', async () => {
    simulator.faults.add({ fault: { kind: 'error_event', error: { type: 'overloaded_error' } } });
    const { outcome, status } = await answerOf({ messages: [user('Hi')], stream: true });
    expect(outcome?.attempt?.result).toBe(AttemptResult.OVERLOADED);
    expect(status).toBeUndefined();
  });

  it('lists the models with their names', async () => {
    const { models } = await adapter.listModels({ pool: 'messages' });
    expect(models.map(({ id, displayName }) => [id, displayName])).toContainEqual([
      'claude-opus-4-8',
      'Claude Opus 4.8',
    ]);
  });
});

describe('a relayed Messages request', () => {
  const sent = `{ "model":"gateway/claude", "max_tokens":100,\t"messages":[{"role":"user","content":"Hello"}],
    "metadata":{"user_id":"u","user_id":"v"}, "x-new":{"n":12345678901234567890,"e":1.0e+2} }`;
  const streamed = sent.replace('"max_tokens"', '"stream":true, "max_tokens"');
  const forwardHeaders = { 'partner-version': '2024-01-01', 'partner-beta': 'new-2026' };
  const relay = (body: string) =>
    collect(adapter.execute(requestFrames(body, { dialect: Dialect.MESSAGES, forwardHeaders })));

  it('reaches the provider as it was sent, but for the model', async () => {
    expect((await relay(sent)).result).toBe(AttemptResult.SUCCEEDED);
    const [request] = simulator.requests();
    expect(Buffer.from(request?.body ?? []).toString()).toBe(sent.replace('gateway/claude', 'claude-sonnet-5'));
    expect(request).toMatchObject({ path: '/v1/messages', query: '' });
    expect(request?.headers).toMatchObject({
      'anthropic-version': '2024-01-01',
      'partner-version': '2024-01-01',
      'anthropic-beta': 'new-2026',
      'partner-beta': 'new-2026',
      accept: 'application/json',
    });
  });

  it.each([
    ['whole', sent, 'application/json'],
    ['streamed', streamed, 'text/event-stream'],
  ])('is answered as the provider answers, %s', async (_, body, contentType) => {
    const { text, frames, usage } = await relay(body);
    const head = frames.find((frame) => frame.head)?.head;
    expect(head?.headers['content-type']).toContain(contentType);
    expect(text).toContain(`"id":"${head?.answerId}"`);
    const billed = simulator.requests()[0]?.billed;
    expect(usage).toMatchObject({
      inputTokens: billed?.inputTokens ?? -1,
      outputTokens: billed?.outputTokens ?? -1,
      estimated: false,
    });
    expect(withoutId(text)).toBe(withoutId(await directly(body)));
  });

  it('minds no unusual stream', async () => {
    const usual = (await relay(streamed)).text;
    simulator.faults.add({ fault: { kind: 'unknown_events' } });
    simulator.faults.add({ fault: { kind: 'split_utf8' } });
    const { text, result } = await relay(streamed);
    expect(result).toBe(AttemptResult.SUCCEEDED);
    expect(text.length).toBeGreaterThan(usual.length);
  });

  it.each([
    ['error_event', AttemptResult.OVERLOADED],
    ['reset', AttemptResult.SERVER_ERROR],
    ['end', AttemptResult.SERVER_ERROR],
    ['broken_json', AttemptResult.SERVER_ERROR],
  ] as const)('can be tried elsewhere after %s before the first content', async (kind, result) => {
    const error = kind === 'error_event' ? { error: { type: 'overloaded_error' } } : {};
    simulator.faults.add({ fault: { kind, afterEvents: 1, ...error } });
    expect(await relay(streamed)).toMatchObject({ result, status: undefined, text: '' });
  });

  it('ends before the provider’s error, once content went out', async () => {
    simulator.faults.add({ fault: { kind: 'delay', betweenEventsMs: 50 } });
    simulator.faults.add({ fault: { kind: 'error_event', afterEvents: 4, error: { message: 'PROVIDER TEXT' } } });
    const { text, result, outcome } = await relay(streamed);
    expect(text).toMatch(/^event: message_start\n.*content_block_delta.*\}\n\n$/s);
    expect(text).not.toContain('event: error');
    expect([result, outcome?.error?.code]).toEqual([AttemptResult.OVERLOADED, 'providers_unavailable']);
  });

  it('passes on the codes of threads, and no provider text', async () => {
    const details = { error_code: 'thread_already_continued' };
    const error = { type: 'invalid_request_error', message: 'PROVIDER TEXT', details };
    simulator.faults.add({ fault: { kind: 'status', status: 400, body: { type: 'error', error } } });
    const { outcome } = await relay(sent);
    expect(outcome).toMatchObject({
      attempt: { result: AttemptResult.REJECTED, upstreamStatus: 400 },
      error: { code: 'upstream_rejected', upstreamStatus: 400, upstreamCode: 'thread_already_continued' },
    });
    expect(outcome?.upstreamAnswer).toBeUndefined();
    expect(outcome?.error?.message).not.toContain('PROVIDER');
  });
});

describe('counting tokens', () => {
  const body =
    '{"model":"gateway/claude","messages":[{"role":"user","content":"Hello there"}],"seed":12345678901234567890}';
  const count = () =>
    adapter.countTokens(requestFrames(body, { dialect: Dialect.MESSAGES, forwardHeaders: { 'partner-beta': 'b' } }));

  it('gives the provider’s count of the body as it was sent', async () => {
    const { inputTokens, result } = await count();
    expect(inputTokens).toBeGreaterThan(0);
    expect(result?.attempt).toMatchObject({ result: AttemptResult.SUCCEEDED, upstreamStatus: 200 });
    const [request] = simulator.requests();
    expect(request?.path).toBe('/v1/messages/count_tokens');
    expect(Buffer.from(request?.body ?? []).toString()).toBe(body.replace('gateway/claude', 'claude-sonnet-5'));
    expect(request?.headers).toMatchObject({ 'anthropic-version': '2023-06-01', 'anthropic-beta': 'b' });
  });

  it('reports a limited account', async () => {
    const path = '/v1/messages/count_tokens';
    simulator.faults.add({ path, fault: { preset: 'unified_rejected', resetAfterSeconds: 600 } });
    const { result } = await count();
    expect(result).toMatchObject({
      attempt: { result: AttemptResult.RATE_LIMITED },
      error: { code: 'pool_exhausted' },
    });
    expect(result?.attempt?.retryAtMs).toBeDefined();
  });
});

interface Answer {
  readonly frames: readonly ExecuteResponse[];
  readonly status: number | undefined;
  readonly text: string;
  readonly usage: ExecuteResponse['usage'];
  readonly outcome: ExecuteResponse['result'];
  readonly result: AttemptResult | undefined;
}

async function answerOf(body: object, lease: { readonly model?: string } = {}): Promise<Answer> {
  return collect(send(body, lease));
}

async function collect(answer: AsyncIterable<ExecuteResponse>): Promise<Answer> {
  const frames = await Array.fromAsync(answer);
  const outcome = frames.at(-1)?.result;
  return {
    frames,
    status: frames.find(({ head }) => head)?.head?.status,
    text: Buffer.concat(frames.map((frame) => frame.body)).toString(),
    usage: frames.findLast((frame) => frame.usage)?.usage,
    outcome,
    result: outcome?.attempt?.result,
  };
}

function send(body: object, lease: { readonly model?: string }, options: CallOptions = {}) {
  const text = JSON.stringify({ model: 'gateway/claude', ...body });
  return adapter.execute(requestFrames(text, { dialect: Dialect.CHAT_COMPLETIONS, ...lease }), options);
}

interface Sending {
  readonly dialect: Dialect;
  readonly model?: string;
  readonly forwardHeaders?: Record<string, string>;
}

function requestFrames(body: string, { dialect, model = 'claude-sonnet-5', forwardHeaders = {} }: Sending) {
  const lease = { leaseId: 'lease-1', accountId: 'messages/a', pool: 'messages', model };
  return streamOf([{ head: { requestId: 'request-1', lease, dialect, forwardHeaders } }, { body: Buffer.from(body) }]);
}

async function* streamOf<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

/** The provider's answer to a direct request. */
async function directly(body: string): Promise<string> {
  const headers = { 'x-api-key': 'account-a', 'anthropic-version': '2024-01-01', 'anthropic-beta': 'new-2026' };
  const spliced = body.replace('gateway/claude', 'claude-sonnet-5');
  const answer = await fetch(`${simulator.url}/v1/messages`, { method: 'POST', headers, body: spliced });
  return answer.text();
}

/** Each answer of the provider has a different id. */
function withoutId(answer: string): string {
  return answer.replaceAll(/msg_\w+/g, 'msg');
}

function user(content: string) {
  return { role: 'user', content };
}

function deltasOf(stream: string): readonly string[] {
  const chunks = stream.split('\n\n').filter((event) => event.startsWith('data: {'));
  return chunks.map((chunk) => JSON.parse(chunk.slice('data: '.length)).choices[0]?.delta.content ?? '');
}
