import { inSpan, SpanKind } from '@gateway/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type AdapterUnderTest,
  bearer,
  type Sending,
  send,
  startAdapter,
  streamOf,
} from '../__fixtures__/adapter-under-test.ts';
import { event, fakeFormat } from '../__fixtures__/fake-format.ts';
import { eventStream } from '../__fixtures__/fake-provider.ts';
import { type RecordedSpan, RecordedSpans } from '../__fixtures__/recorded-spans.ts';
import type { FormatDefinition } from '../format-definition.ts';

const countingFormat: FormatDefinition = {
  ...fakeFormat,
  countTokens: { prepare: ({ body }) => ({ path: '/count', headers: {}, body: body.chunks }), readCount: Number },
};

let adapter: AdapterUnderTest;
beforeEach(async () => {
  adapter = await startAdapter({}, countingFormat);
});
afterEach(() => adapter[Symbol.asyncDispose]());

const usage = { inputTokens: 10, cachedTokens: 2, cacheCreationTokens: 3, outputTokens: 4, reasoningTokens: 1 };
const wholeAnswer = event.id('answer-1') + event.text('An answer') + event.usage(usage) + event.done;

const ask = (sending?: Sending) => Array.fromAsync(send(adapter, sending));

function answerWith(events: string): void {
  adapter.provider.answer = (response) => eventStream(response).end(events);
}

function refuse(): void {
  adapter.provider.answer = (response) => response.writeHead(429).end();
}

/** Leaves an answer that has started. */
async function askAndLeave(): Promise<void> {
  adapter.provider.answer = (response) => eventStream(response).write(event.text('x'.repeat(40)));
  for await (const { head } of send(adapter)) if (head !== undefined) break;
}

async function count(): Promise<void> {
  const frames = [{ head: { lease: { accountId: 'pool/a', model: 'model-x' } } }, { body: Buffer.from('{}') }];
  await adapter.client.countTokens(streamOf(frames));
}

/** The samples of a metric as "labels value", without their common labels. */
async function samples(name: string): Promise<readonly string[]> {
  const lines = (await adapter.metrics.exposition()).split('\n').filter((line) => line.startsWith(`${name}{`));
  return lines.map((line) =>
    line
      .slice(name.length)
      .replace('gen_ai_provider_name="anthropic",', '')
      .replaceAll('gen_ai_', '')
      .replaceAll(/_name(?==)|[{}"]/g, ''),
  );
}

const durations = () => samples('gen_ai_client_operation_duration_seconds_count');
const firstChunks = () => samples('gen_ai_client_operation_time_to_first_chunk_seconds_count');
const tokens = () => samples('gateway_tokens_total');
const usages = () => samples('gen_ai_client_token_usage_sum');

describe('the metrics of calls to a provider', () => {
  it('have the duration, the first chunk and the tokens of a streamed answer', async () => {
    answerWith(wholeAnswer);
    await ask();
    const model = 'operation=chat,request_model=model-x';
    expect(await durations()).toEqual([`${model},error_type= 1`]);
    expect(await firstChunks()).toEqual([`${model} 1`]);
    expect(await tokens()).toEqual([
      `${model},token_type=input 10`,
      `${model},token_type=output 4`,
      `${model},token_type=cache_read_input 2`,
      `${model},token_type=cache_creation_input 3`,
    ]);
    expect(await usages()).toEqual([`${model},token_type=input 10`, `${model},token_type=output 4`]);
  });

  it('have the buckets of the convention', async () => {
    answerWith(wholeAnswer);
    await ask();
    const text = await adapter.metrics.exposition();
    const bounds = (name: string) => [
      ...new Set(
        [...text.matchAll(new RegExp(`${name}_bucket\\{le="([^"]+)"`, 'g'))].map(([, bound]) => Number(bound)),
      ),
    ];
    const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
    expect(bounds('gen_ai_client_operation_duration_seconds')).toEqual([...seconds, Number.NaN]);
    expect(bounds('gen_ai_client_operation_time_to_first_chunk_seconds')).toEqual([...seconds, Number.NaN]);
    const counts = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864];
    expect(bounds('gen_ai_client_token_usage')).toEqual([...counts, Number.NaN]);
  });

  it('have no first chunk of an answer that comes whole', async () => {
    answerWith(wholeAnswer);
    await ask({ body: { stream: false } });
    expect(await firstChunks()).toEqual([]);
    expect(await durations()).toHaveLength(1);
  });

  it('have how a call failed, and no tokens where the provider gave no answer', async () => {
    refuse();
    await ask();
    answerWith(event.fail);
    await ask();
    expect(await durations()).toEqual([
      'operation=chat,request_model=model-x,error_type=rate_limited 1',
      'operation=chat,request_model=model-x,error_type=overloaded 1',
    ]);
    expect(await firstChunks()).toEqual([]);
    expect(await usages()).toEqual([]);
  });

  it('have the estimated tokens of an answer that is left, as no usage', async () => {
    await askAndLeave();
    await expect.poll(durations).toEqual(['operation=chat,request_model=model-x,error_type=cancelled 1']);
    expect(await firstChunks()).toHaveLength(1);
    expect(await tokens()).toContain('operation=chat,request_model=model-x,token_type=output 10');
    expect(await usages()).toEqual([]);
  });

  it('have each call of an attempt, with a refused secret and with its replacement', async () => {
    adapter.provider.answer = (response, { headers }) =>
      headers.authorization === 'Bearer secret-2'
        ? eventStream(response).end(wholeAnswer)
        : response.writeHead(401).end();
    await adapter.context.credentials.ofAccount('pool/a');
    adapter.credential = async () => bearer(`${adapter.provider.url}/base`, 'secret-2');
    await ask();
    expect(await durations()).toEqual([
      'operation=chat,request_model=model-x,error_type=server_error 1',
      'operation=chat,request_model=model-x,error_type= 1',
    ]);
  });

  it('have each call of an attempt, with what the provider refused and without it', async () => {
    adapter.provider.answer = (response, { body }) =>
      eventStream(response).end(body.includes('spare') ? event.fail : wholeAnswer);
    await ask({ body: { stream: true, spare: 1 } });
    expect((await durations()).map((line) => line.replace(/.*error_type=/, ''))).toEqual(['overloaded 1', ' 1']);
  });

  it('have nothing of an attempt that was never sent', async () => {
    adapter.credential = async () => bearer(adapter.provider.url, 'a\r\nx: b');
    await ask({ body: { refuse: true } }).catch(() => undefined);
    expect(await durations()).toEqual([]);
  });

  it('name no model that nothing lists: a thousand made-up names are one', async () => {
    refuse();
    for (let n = 0; n < 1_000; n++) await ask({ lease: { model: `made-up-${n}`, modelUnlisted: true } });
    expect(await durations()).toEqual(['operation=chat,request_model=other,error_type=rate_limited 1000']);
    expect(await adapter.metrics.exposition()).not.toContain('made-up');
  });

  it('have counts of tokens and model lists as operations of their own, which use no tokens', async () => {
    adapter.provider.answer = (response, { url }) => response.end(url === '/base/count' ? '17' : '["m1"]');
    await count();
    await adapter.client.listModels({ pool: 'pool' });
    refuse();
    await adapter.client.listModels({ pool: 'pool' }).catch(() => undefined);
    expect(await durations()).toEqual([
      'operation=count_tokens,request_model=model-x,error_type= 1',
      'operation=list_models,request_model=,error_type= 1',
      'operation=list_models,request_model=,error_type=429 1',
    ]);
    expect(await tokens()).toEqual([]);
  });

  it('leave model lists out of the time to the first byte', async () => {
    adapter.provider.answer = (response) => response.end('["m1"]');
    await adapter.client.listModels({ pool: 'pool' });
    const text = await adapter.metrics.exposition();
    expect(text).not.toContain('gateway_upstream_first_byte_seconds_count');
  });
});

describe('the spans of calls to a provider', () => {
  let recorded: RecordedSpans;
  beforeEach(() => {
    recorded = new RecordedSpans();
  });
  afterEach(() => recorded[Symbol.dispose]());

  /** The spans of calls that `work` makes within a span. */
  async function spansOf(work: () => Promise<unknown>): Promise<readonly RecordedSpan[]> {
    await inSpan('attempt', { kind: SpanKind.SERVER }, work);
    const parent = recorded.all.find(({ name }) => name === 'attempt');
    const spans = recorded.all.filter((span) => span !== parent);
    for (const span of spans) {
      expect(span).toMatchObject({ parentSpanId: parent?.spanId, traceId: parent?.traceId, kind: 'client' });
    }
    return spans;
  }

  it('say what was asked of whom, what was used and how it ended, and nothing that anyone wrote', async () => {
    answerWith(wholeAnswer);
    const spans = await spansOf(() => ask({ body: { stream: true, prompt: 'A SECRET QUESTION' } }));
    expect(spans).toMatchObject([{ name: 'chat model-x', failure: undefined, events: ['gen_ai.first_token'] }]);
    const { 'gen_ai.response.time_to_first_chunk': firstChunk, ...attributes } = spans[0]?.attributes ?? {};
    expect(firstChunk).toBeGreaterThan(0);
    expect(attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'model-x',
      'gen_ai.response.id': 'answer-1',
      'gen_ai.response.model': 'model-x',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 4,
      'gen_ai.usage.cache_read.input_tokens': 2,
      'gen_ai.usage.cache_creation.input_tokens': 3,
      'gen_ai.usage.reasoning.output_tokens': 1,
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(adapter.provider.url).port),
    });
    expect(JSON.stringify(recorded.all)).not.toMatch(/SECRET|An answer|secret-1/);
  });

  it('say how a call failed', async () => {
    refuse();
    expect(await spansOf(ask)).toMatchObject([
      { failure: 'rate_limited', attributes: { 'error.type': 'rate_limited', 'http.response.status_code': 429 } },
    ]);
  });

  it('end when an answer is left, with no usage that is a guess', async () => {
    const [span] = await spansOf(askAndLeave);
    expect(span).toMatchObject({ failure: 'cancelled', events: ['gen_ai.first_token'] });
    expect(Object.keys(span?.attributes ?? {}).filter((name) => name.startsWith('gen_ai.usage'))).toEqual([]);
  });

  it('end with the connection that breaks, or never comes', async () => {
    adapter.provider.answer = (response) => response.socket?.resetAndDestroy();
    expect(await spansOf(ask)).toMatchObject([{ failure: 'network_error' }]);
  });

  it('do not have names that clients make up, also where the provider repeats them', async () => {
    answerWith(wholeAnswer);
    const spans = await spansOf(() => ask({ lease: { model: 'made-up', modelUnlisted: true } }));
    expect(spans).toMatchObject([{ name: 'chat other', attributes: { 'gen_ai.request.model': 'other' } }]);
    expect(JSON.stringify(spans)).not.toContain('made-up');
  });

  it('are there for counts of tokens, and for model lists that someone asked for', async () => {
    adapter.provider.answer = (response, { url }) => response.end(url === '/base/count' ? '17' : '["m1"]');
    await adapter.client.listModels({ pool: 'pool' });
    const spans = await spansOf(async () => {
      await count();
      await adapter.client.listModels({ pool: 'pool' });
    });
    expect(spans.map(({ name }) => name)).toEqual(['count_tokens model-x', 'list_models']);
  });

  it('are exemplars of their metrics', async () => {
    answerWith(wholeAnswer);
    const [span] = await spansOf(ask);
    const text = await adapter.metrics.exposition('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(text).toMatch(
      new RegExp(`gen_ai_client_operation_duration_seconds_bucket.*# \\{trace_id="${span?.traceId}"\\}`),
    );
  });

  it('are not shown to providers, unless they are to see them', async () => {
    answerWith(wholeAnswer);
    const showing = await startAdapter({ sendsTraceparent: true });
    showing.provider.answer = adapter.provider.answer;
    const [, span] = await spansOf(async () => {
      await ask();
      await Array.fromAsync(send(showing));
    });
    await showing[Symbol.asyncDispose]();
    expect(adapter.provider.calls[0]?.headers).not.toHaveProperty('traceparent');
    expect(showing.provider.calls[0]?.headers.traceparent).toBe(`00-${span?.traceId}-${span?.spanId}-01`);
  });
});

describe('the id that a provider gave a request', () => {
  const reported = async () => (await ask()).at(-1)?.result?.attempt?.providerRequestId;

  it.each([
    [{ 'request-id': 'req_1' }, 'req_1'],
    [{ 'x-request-id': 'req_2' }, 'req_2'],
    [{ 'x-request-id': 'two words' }, ''],
    [{ 'x-request-id': 'x'.repeat(129) }, ''],
    [{}, ''],
  ])('is reported from the headers %j as "%s"', async (headers, id) => {
    adapter.provider.answer = (response) => response.writeHead(429, headers).end();
    expect(await reported()).toBe(id);
  });

  it('is that of the latest call, if it has one', async () => {
    adapter.provider.answer = (response, { headers }) =>
      headers.authorization === 'Bearer secret-2'
        ? eventStream(response).end(wholeAnswer)
        : response.writeHead(401, { 'request-id': 'req_1' }).end();
    await adapter.context.credentials.ofAccount('pool/a');
    adapter.credential = async () => bearer(`${adapter.provider.url}/base`, 'secret-2');
    expect(await reported()).toBe('');
  });
});
