import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import type { Logger } from './logger.ts';
import { Metrics } from './metrics.ts';
import { startTracing } from './start-tracing.ts';
import { type OtlpAnswer, OtlpReceiver } from './testing/otlp-receiver.ts';
import {
  activeSpan,
  activeTraceparent,
  exemplarOf,
  failSpan,
  inSpan,
  outsideTraces,
  SpanKind,
  startSpan,
  traceFields,
  traceparentOf,
  withSpan,
} from './tracing.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const sampled = `00-${traceId}-b7ad6b7169203331-01`;
const notSampled = `00-${traceId}-b7ad6b7169203331-00`;
const server = { kind: SpanKind.SERVER };

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
  vi.unstubAllEnvs();
});

/** Starts tracing to an endpoint that gives this answer, configured by the variables. */
async function tracingTo(answer: OtlpAnswer, variables: Readonly<Record<string, string>> = {}) {
  const receiver = stack.use(await OtlpReceiver.listen(answer));
  return { receiver, ...(await tracingWith({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...variables })) };
}

async function tracingWith(variables: Readonly<Record<string, string>>) {
  // The exporter reads the environment itself.
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const warnings: unknown[] = [];
  const logger = { warn: (about: object, text: string) => void warnings.push({ ...about, text }) } as unknown as Logger;
  const metrics = new Metrics();
  const tracing = await startTracing({ service: 'limiter', logger, metrics });
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    stopped ??= Promise.resolve(tracing?.[Symbol.asyncDispose]());
    await stopped;
  };
  // A failed test must not leave a provider behind.
  stack.defer(stop);
  return { metrics, warnings, isOn: tracing !== undefined, stop };
}

describe('a span', () => {
  it('arrives with its parent, its attributes and events, and the service that made it', async () => {
    const { receiver, metrics, stop } = await tracingTo('success', { OTEL_RESOURCE_ATTRIBUTES: 'cluster=east' });
    await inSpan('POST /v1/messages', { ...server, traceparent: sampled }, async (span) => {
      await inSpan('admit', { attributes: { 'gateway.admission': 'admitted' }, links: [notSampled] }, async () => {
        activeSpan()?.addEvent('gen_ai.first_token', { tokens: 3 });
      });
      span.setAttribute('http.response.status_code', 200);
    });
    await stop();
    const [inner, outer] = receiver.spans;
    expect(outer).toMatchObject({
      name: 'POST /v1/messages',
      kind: 'server',
      service: 'limiter',
      traceId,
      parentSpanId: 'b7ad6b7169203331',
      attributes: { 'http.response.status_code': 200 },
      resource: { 'service.version': expect.stringMatching(/^\d+\.\d+/), cluster: 'east' },
      error: undefined,
    });
    expect(inner).toMatchObject({
      name: 'admit',
      kind: 'internal',
      traceId,
      parentSpanId: outer?.spanId,
      attributes: { 'gateway.admission': 'admitted' },
      events: [{ name: 'gen_ai.first_token', attributes: { tokens: 3 } }],
      links: [{ traceId, spanId: 'b7ad6b7169203331' }],
    });
    expect(await metrics.exposition()).toContain('gateway_trace_spans_exported_total 2\n');
  });

  it('says the name of what failed, and no text', async () => {
    const { receiver, stop } = await tracingTo('success');
    const failure = Object.assign(new TypeError('the prompt was "hello"'), { code: 'ECONNRESET' });
    await expect(inSpan('settle', server, () => Promise.reject(failure))).rejects.toBe(failure);
    const span = startSpan('acquire', server);
    failSpan(span, new RangeError('hello'));
    span.end();
    await stop();
    expect(receiver.spans).toMatchObject([
      { error: 'ECONNRESET', attributes: { 'error.type': 'ECONNRESET' }, events: [] },
      { error: 'RangeError', attributes: { 'error.type': 'RangeError' }, events: [] },
    ]);
  });

  it('is the active one in what its work waits for, and no longer after it', async () => {
    const { stop } = await tracingTo('success');
    await inSpan('a', server, async (span) => {
      await new Promise(setImmediate);
      expect(activeSpan()).toBe(span);
      expect(activeTraceparent()).toBe(traceparentOf(span));
      expect(traceFields()).toEqual({ trace_id: span.spanContext().traceId, span_id: span.spanContext().spanId });
      expect(exemplarOf(activeSpan())).toEqual({ trace_id: span.spanContext().traceId });
      expect(outsideTraces(activeSpan)).toBeUndefined();
    });
    expect([activeSpan(), activeTraceparent(), traceFields()]).toEqual([undefined, undefined, undefined]);
    await stop();
  });

  it('of a part is not made outside of a trace: background work begins none', async () => {
    const { receiver, stop } = await tracingTo('success');
    await inSpan('SELECT', { kind: SpanKind.CLIENT }, () =>
      inSpan('row', {}, async () => {
        expect(activeTraceparent()).toBeUndefined();
        expect(traceFields()).toBeUndefined();
      }),
    );
    await inSpan('process usage', { kind: SpanKind.CONSUMER }, () =>
      inSpan('SELECT', { kind: SpanKind.CLIENT }, async () => 1),
    );
    await stop();
    expect(receiver.spans.map(({ name }) => name)).toEqual(['SELECT', 'process usage']);
  });

  it('may begin after the one that it is part of has ended', async () => {
    const { receiver, stop } = await tracingTo('success');
    const request = startSpan('request', server);
    await withSpan(request, async () => {
      request.end();
      await inSpan('settle', {}, async () => undefined);
    });
    await stop();
    expect(receiver.spans.map(({ name }) => name)).toEqual(['request', 'settle']);
  });

  it('of a part is not made in a trace that is not sent: what it calls carries the one span that there is', async () => {
    const { receiver, stop } = await tracingTo('success');
    await inSpan('request', { ...server, traceparent: notSampled }, async () => {
      const ofRequest = activeTraceparent();
      expect(ofRequest).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
      await inSpan('admit', {}, async () => expect(activeTraceparent()).toBe(ofRequest));
    });
    await stop();
    expect(receiver.requests).toEqual([]);
  });

  it('begins a trace of its own when what it was to continue makes no sense', async () => {
    const { receiver, stop } = await tracingTo('success');
    for (const traceparent of ['', 'hello', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`]) {
      startSpan('a', { ...server, traceparent, links: [traceparent] }).end();
    }
    await stop();
    expect(receiver.spans).toMatchObject(Array(3).fill({ parentSpanId: undefined, links: [] }));
  });
});

describe('histograms', () => {
  it('name the trace of what they measured, when it is sampled', async () => {
    const { metrics, stop } = await tracingTo('success');
    const seconds = metrics.histogram({ name: 'a_seconds', help: 'A.', labels: ['kind'], buckets: [1, 2] });
    withSpan(startSpan('a', { ...server, traceparent: sampled }), () => seconds.observe({ kind: 'x' }, 0.5));
    withSpan(startSpan('a', { ...server, traceparent: notSampled }), () => seconds.observe({ kind: 'x' }, 1.5));
    seconds.observe({ kind: 'x' }, 3);
    const text = await metrics.exposition('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(text).toMatch(
      new RegExp(`^a_seconds_bucket{le="1",kind="x"} 1 # {trace_id="${traceId}"} 0.5 \\d+\\.?\\d*$`, 'm'),
    );
    expect(text).toMatch(/^a_seconds_bucket{le="2",kind="x"} 2$/m);
    expect(text).toMatch(/^a_seconds_bucket{le="\+Inf",kind="x"} 3$/m);
    expect(await metrics.exposition()).not.toContain('trace_id');
    await stop();
  });

  it('name one trace a second of each bucket, or the one that they are given', async () => {
    const { metrics, named } = await withExemplars();
    const seconds = metrics.histogram({ name: 'a_seconds', help: 'A.', buckets: [1, 2] });
    const observe = (value: number, begin: string) => seconds.observe({}, value, sampledTrace(begin));
    observe(0.5, 'aa');
    observe(1, 'bb');
    observe(1.5, 'cc');
    seconds.observe({}, 3, notSampled);
    expect(await named()).toEqual(['aa', 'cc']);
    vi.advanceTimersByTime(1_000);
    observe(1, 'dd');
    observe(3, 'ee');
    expect(await named()).toEqual(['dd', 'cc', 'ee']);
  });

  it('spare exemplars of each series by itself: a busy one leaves room for the others', async () => {
    const { metrics, named } = await withExemplars();
    const seconds = metrics.histogram({ name: 'a_seconds', help: 'A.', labels: ['kind', 'code'], buckets: [1] });
    seconds.observe({ kind: 'x', code: 1 }, 0.5, sampledTrace('aa'));
    seconds.observe({ code: 1, kind: 'x' }, 0.5, sampledTrace('bb'));
    seconds.observe({ kind: 'y', code: 1 }, 0.5, sampledTrace('cc'));
    seconds.observe({ kind: 'x', code: 2 }, 0.5, sampledTrace('dd'));
    seconds.observe({ kind: 'x' }, 0.5, sampledTrace('ee'));
    seconds.observe({ kind: 'x' }, 0.5, sampledTrace('ff'));
    expect(await named()).toEqual(['aa', 'cc', 'dd', 'ee']);
    vi.advanceTimersByTime(1_000);
    seconds.observe({ kind: 'x', code: 1 }, 0.5, sampledTrace('bb'));
    expect(await named()).toEqual(['bb', 'cc', 'dd', 'ee']);
  });

  /**
   * The metrics of a traced process whose clock does not advance, and the traces in their
   * exemplars, by first letters.
   */
  async function withExemplars() {
    vi.useFakeTimers({ toFake: ['performance'] });
    stack.defer(() => void vi.useRealTimers());
    const { metrics } = await tracingTo('success');
    const named = async () => {
      const text = await metrics.exposition('application/openmetrics-text; version=1.0.0; charset=utf-8');
      return [...text.matchAll(/trace_id="(..)/g)].map(([, begin]) => begin);
    };
    return { metrics, named };
  }

  function sampledTrace(begin: string): string {
    return sampled.replace(traceId, begin + traceId.slice(2));
  }
});

describe('which traces are sent', () => {
  it.each([
    ['', '', { root: true, sampled: true, notSampled: false }],
    ['parentbased_always_off', '', { root: false, sampled: true, notSampled: false }],
    ['parentbased_traceidratio', '0', { root: false, sampled: true, notSampled: false }],
    ['parentbased_traceidratio', '1', { root: true, sampled: true, notSampled: false }],
    ['traceidratio', '0', { root: false, sampled: false, notSampled: false }],
    ['always_on', '', { root: true, sampled: true, notSampled: true }],
    ['always_off', '', { root: false, sampled: false, notSampled: false }],
  ])('is what OTEL_TRACES_SAMPLER=%s with %j says', async (name, argument, sent) => {
    const variables = { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument };
    const { receiver, stop } = await tracingTo('success', variables);
    startSpan('root', server).end();
    startSpan('sampled', { ...server, traceparent: sampled }).end();
    startSpan('notSampled', { ...server, traceparent: notSampled }).end();
    await stop();
    const names = Object.entries(sent).flatMap(([each, isSent]) => (isSent ? [each] : []));
    expect(receiver.spans.map((span) => span.name)).toEqual(names);
  });

  it.each([
    ['', '', { root: true, sampled: true, notSampled: true }],
    ['parentbased_always_off', '', { root: false, sampled: false, notSampled: false }],
    ['parentbased_traceidratio', '0', { root: false, sampled: false, notSampled: false }],
    ['parentbased_traceidratio', '1', { root: true, sampled: true, notSampled: true }],
    ['traceidratio', '0', { root: false, sampled: false, notSampled: false }],
    ['always_off', '', { root: false, sampled: false, notSampled: false }],
  ])(
    'is not what a caller says that is not trusted with it: OTEL_TRACES_SAMPLER=%s, %j',
    async (name, argument, sent) => {
      const variables = { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument };
      const { receiver, stop } = await tracingTo('success', variables);
      const untrusting = { ...server, decidesSampling: true };
      startSpan('root', untrusting).end();
      startSpan('sampled', { ...untrusting, traceparent: sampled }).end();
      startSpan('notSampled', { ...untrusting, traceparent: notSampled }).end();
      // The trace's id is kept, and calls from there follow the decision made here.
      await inSpan('outer', { ...untrusting, traceparent: sampled }, async () => {
        expect(activeTraceparent()).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-0${sent.sampled ? 1 : 0}$`));
      });
      await stop();
      const names = Object.entries({ ...sent, outer: sent.sampled }).flatMap(([each, isSent]) =>
        isSent ? [each] : [],
      );
      expect(receiver.spans.map((span) => span.name)).toEqual(names);
      for (const span of receiver.spans.slice(1)) expect(span.traceId).toBe(traceId);
    },
  );

  it.each(['parentbased_traceidratio', 'traceidratio'])(
    'is not what a caller says by the id that it chose: %s',
    async (name) => {
      const variables = { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: '0.5' };
      const { receiver, stop } = await tracingTo('success', variables);
      // This id would be sampled at any ratio.
      const traceparent = `00-${'0'.repeat(31)}1-b7ad6b7169203331-01`;
      const spans = Array.from({ length: 200 }, () =>
        startSpan('a', { ...server, traceparent, decidesSampling: true }),
      );
      for (const span of spans) span.end();
      await stop();
      // The probability that all or none are sampled is 2^-199.
      expect(receiver.spans.length).toBeGreaterThan(0);
      expect(receiver.spans.length).toBeLessThan(200);
    },
  );

  it('travels on where a trace is not sent', async () => {
    const { receiver, stop } = await tracingTo('success', { OTEL_TRACES_SAMPLER: 'parentbased_always_off' });
    await inSpan('a', server, async () => expect(activeTraceparent()).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/));
    await stop();
    expect(receiver.requests).toEqual([]);
  });

  it.each([
    [{ OTEL_TRACES_SAMPLER: 'sometimes' }, 'OTEL_TRACES_SAMPLER: sometimes is unknown'],
    [{ OTEL_TRACES_SAMPLER_ARG: '10 %' }, 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1'],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
      'OTEL_EXPORTER_OTLP_ENDPOINT must be a URL, not "collector:4318"',
    ],
  ])('can not be set by %j: the start fails and says why', async (variables, text) => {
    await expect(tracingTo('success', variables)).rejects.toThrow(text);
  });
});

describe('the endpoint', () => {
  it('gets the headers and the compression that are set', async () => {
    const { receiver, stop } = await tracingTo('success', {
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    });
    startSpan('a', server).end();
    await stop();
    expect(receiver.requests).toMatchObject([
      { authorization: 'Bearer x', 'content-encoding': 'gzip', 'content-type': 'application/x-protobuf' },
    ]);
    expect(receiver.spans).toHaveLength(1);
  });

  it('is not looked for where the variables switch traces off', async () => {
    const offs: readonly Readonly<Record<string, string>>[] = [
      { OTEL_SDK_DISABLED: 'true' },
      { OTEL_TRACES_EXPORTER: 'none' },
      { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    ];
    for (const off of offs) {
      const { isOn } = await tracingTo('success', off);
      expect(isOn).toBe(false);
      vi.unstubAllEnvs();
    }
  });

  it('that is asked for over another protocol is sent HTTP, and the log says so', async () => {
    const { warnings, stop } = await tracingTo('success', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
    expect(warnings).toMatchObject([{ protocol: 'grpc' }]);
    await stop();
  });

  it.each<OtlpAnswer>(['never', 500, 503, 400])(
    'that answers %s costs nothing but its spans, which are counted',
    async (answer) => {
      const { metrics, warnings, stop } = await tracingTo(answer, { OTEL_EXPORTER_OTLP_TIMEOUT: '500' });
      for (let each = 0; each < 3; each++) await inSpan('a', server, async () => 1);
      await stop();
      expect(await metrics.exposition()).toContain('gateway_trace_spans_dropped_total{reason="export_failed"} 3\n');
      expect(warnings).toMatchObject([{ text: 'spans could not be exported and are dropped' }]);
    },
  );

  it('that is away costs nothing but its spans, which are counted', async () => {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as { readonly port: number };
    await once(listener.close(), 'close');
    const url = `http://127.0.0.1:${port}`;
    const { metrics, stop } = await tracingWith({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    });
    await inSpan('a', server, async () => 1);
    await stop();
    expect(await metrics.exposition()).toContain('gateway_trace_spans_dropped_total{reason="export_failed"} 1\n');
  });

  it('that answers with bytes that mean nothing has taken the spans', async () => {
    const { metrics, warnings, stop } = await tracingTo('nonsense');
    await inSpan('a', server, async () => 1);
    await stop();
    expect(await metrics.exposition()).toContain('gateway_trace_spans_exported_total 1\n');
    expect(warnings).toEqual([]);
  });

  it('that takes nothing leaves a bounded number of spans waiting: what does not fit is dropped and counted', async () => {
    const { metrics, stop } = await tracingTo('never', {
      OTEL_BSP_MAX_QUEUE_SIZE: '10',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5',
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    });
    for (let each = 0; each < 100; each++) startSpan('a', server).end();
    // Five spans are in flight, ten wait.
    expect(await metrics.exposition()).toContain('gateway_trace_spans_dropped_total{reason="queue_full"} 85\n');
    await stop();
    expect(await metrics.exposition()).toContain('gateway_trace_spans_dropped_total{reason="export_failed"} 15\n');
  });

  it('that never answers holds up a stop for a few seconds, however long its timeout', {
    timeout: 10_000 * inject('slowness'),
  }, async () => {
    const { stop } = await tracingTo('never', {
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
      OTEL_BSP_EXPORT_TIMEOUT: '60000',
    });
    startSpan('a', server).end();
    await stop();
  });
});

describe('a process', () => {
  const program = join(import.meta.dirname, '__fixtures__/traced-process.ts');
  const run = async (env: NodeJS.ProcessEnv) => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program], {
      env: { ...process.env, ...env },
    });
    const logged = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    return { loaded: stdout.split('\n').filter((url) => url.includes('/@opentelemetry/')), logged };
  };

  it('without an endpoint loads nothing of the SDK, only the API', async () => {
    const { loaded, logged } = await run({ OTEL_EXPORTER_OTLP_ENDPOINT: '' });
    expect(loaded.length).toBeGreaterThan(0);
    expect(loaded.filter((url) => !url.includes('/@opentelemetry/api/'))).toEqual([]);
    expect(logged).toHaveLength(2);
    for (const line of logged) expect(line).not.toHaveProperty('trace_id');
  });

  it('with an endpoint loads it, and its log lines name the trace and span that they are part of', async () => {
    const receiver = stack.use(await OtlpReceiver.listen());
    const { loaded, logged } = await run({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    expect(loaded.some((url) => url.includes('/@opentelemetry/sdk-trace/'))).toBe(true);
    const [span] = receiver.spans;
    expect(logged.find(({ msg }) => msg === 'outside')).not.toHaveProperty('trace_id');
    expect(logged.find(({ msg }) => msg === 'inside')).toMatchObject({
      trace_id: span?.traceId,
      span_id: span?.spanId,
    });
  });
});
