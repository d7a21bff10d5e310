import { createAdapterContext } from '@gateway/adapter-kit';
import { AdapterService, Dialect, type ExecuteResponse } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { CredentialService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type CallOptions, type Client, directClient, serviceRoute } from '@gateway/rpc';
import { type Simulator, startSimulator } from '@gateway/simulator';
import { createLogger, Metrics } from '@gateway/telemetry';
import { systemClock } from '@gateway/time';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { readMessagesAdapterConfig } from './config.ts';
import { messagesFormat } from './format/provider-format.ts';
import { countTokens } from './rpc/count-tokens.ts';
import { execute } from './rpc/execute.ts';
import { listModels } from './rpc/list-models.ts';

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
      clock: systemClock,
    }),
  );
  const handlers = { execute: execute(context), countTokens: countTokens(context), listModels: listModels(context) };
  adapter = directClient(serviceRoute(AdapterService, handlers));
});
afterAll(() => owned.disposeAsync());
beforeEach(() => simulator.reset());

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
      inputTokens: BigInt(request?.billed.inputTokens ?? -1),
      outputTokens: BigInt(request?.billed.outputTokens ?? -1),
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
    await vi.waitFor(() => expect(simulator.requests()[0]?.outcome).toBe('cancelled'));
  });

  it('says when a limited account is free again', async () => {
    simulator.faults.add({ fault: { preset: 'unified_rejected', resetAfterSeconds: 600 } });
    const { outcome, text } = await answerOf({ messages: [user('Hi')], stream: true });
    expect(outcome).toMatchObject({
      attempt: { result: AttemptResult.RATE_LIMITED, modelScoped: false, upstreamStatus: 429 },
      error: { code: 'pool_exhausted' },
    });
    expect(outcome?.attempt?.retryAt).toEqual(outcome?.error?.retryAt);
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

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly usage: ExecuteResponse['usage'];
  readonly outcome: ExecuteResponse['outcome'];
  readonly result: AttemptResult | undefined;
}

async function answerOf(body: object, lease: { readonly model?: string } = {}): Promise<Answer> {
  const frames = await Array.fromAsync(send(body, lease));
  const outcome = frames.at(-1)?.outcome;
  return {
    status: frames.find(({ head }) => head)?.head?.status,
    text: Buffer.concat(frames.map((frame) => frame.body)).toString(),
    usage: frames.findLast((frame) => frame.usage)?.usage,
    outcome,
    result: outcome?.attempt?.result,
  };
}

function send(body: object, { model = 'claude-sonnet-5' }: { readonly model?: string }, options: CallOptions = {}) {
  const lease = { leaseId: 'lease-1', accountId: 'messages/a', pool: 'messages', model };
  const head = { requestId: 'request-1', lease, dialect: Dialect.CHAT_COMPLETIONS };
  const bytes = Buffer.from(JSON.stringify({ model: 'gateway/claude', ...body }));
  return adapter.execute(streamOf([{ head }, { body: bytes }]), options);
}

async function* streamOf<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

function user(content: string) {
  return { role: 'user', content };
}

function deltasOf(stream: string): readonly string[] {
  const chunks = stream.split('\n\n').filter((event) => event.startsWith('data: {'));
  return chunks.map((chunk) => JSON.parse(chunk.slice('data: '.length)).choices[0]?.delta.content ?? '');
}
