import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { createLogger, expositionType, Metrics, startTracing } from '@gateway/telemetry';
import { OtlpReceiver, type ReceivedSpan } from '@gateway/telemetry/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Frame, leaseOf, streamed, WholeEdge } from '../__fixtures__/whole-edge.ts';
import { RawClient } from './__fixtures__/raw-client.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const callerSpanId = 'b7ad6b7169203331';
const slowMs = 300;
const sampled = { traceparent: `00-${traceId}-${callerSpanId}-01` };
const notSampled = `00-${traceId}-${callerSpanId}-00`;

describe('the trace of a request', () => {
  let edge: WholeEdge;
  let receiver: OtlpReceiver;
  let tracing: AsyncDisposable | undefined;
  beforeEach(async () => {
    receiver = await OtlpReceiver.listen();
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
    const logger = createLogger('edge-router', 'silent');
    tracing = await startTracing({ service: 'edge-router', logger, metrics: new Metrics() });
    edge = await WholeEdge.start({ traceSlowMs: slowMs });
  });
  afterEach(async () => {
    await tracing?.[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
    vi.unstubAllEnvs();
  });

  /**
   * The spans of all requests so far, once nothing is in flight: first those of requests, then
   * their steps in the order of their ends.
   */
  async function spans(): Promise<readonly ReceivedSpan[]> {
    await edge[Symbol.asyncDispose]();
    await tracing?.[Symbol.asyncDispose]();
    return receiver.spans.toSorted((one, other) => Number(other.kind === 'server') - Number(one.kind === 'server'));
  }
  const serverSpan = async () => (await spans()).find(({ kind }) => kind === 'server');

  it('has its steps as children of one span, which continues the trace of the client', async () => {
    edge.acquired = (model, attempts) => leaseOf(attempts === 0 ? 'a' : 'b', { model });
    edge.frames = (account) => (account === 'pool/a' ? failed : streamed);
    const response = await edge.ask('claude-sonnet', { headers: sampled });
    const all = await spans();
    expect(all.map(({ name }) => name)).toEqual([
      'POST /v1/messages',
      'admit',
      'acquire',
      'attempt',
      'acquire',
      'attempt',
      'settle',
    ]);
    const [server, ...steps] = all;
    expect(new Set(all.map((each) => each.traceId))).toEqual(new Set([traceId]));
    expect(server?.parentSpanId).toBe(callerSpanId);
    for (const { parentSpanId } of steps) expect(parentSpanId).toBe(server?.spanId);
    expect(server).toMatchObject({ kind: 'server', error: undefined, events: [{ name: 'gen_ai.first_token' }] });
    expect(server?.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/messages',
      'http.response.status_code': 200,
      'url.path': '/v1/messages',
      'url.scheme': 'http',
      'gen_ai.request.model': 'claude-sonnet',
      'gateway.request_id': response.headers.get('x-request-id'),
    });
    const attempts = all.filter(({ name }) => name === 'attempt').map(({ attributes }) => attributes);
    expect(attempts).toEqual([
      {
        'gateway.pool': 'pool',
        'gateway.account': 'pool/a',
        'gateway.attempt.result': 'overloaded',
        'gateway.attempt.upstream_status': 529,
        'error.type': 'overloaded',
      },
      { 'gateway.pool': 'pool', 'gateway.account': 'pool/b', 'gateway.attempt.result': 'succeeded' },
    ]);
    const text = JSON.stringify(all);
    for (const never of ['a secret', 'data: ', 'Bearer']) expect(text).not.toContain(never);
  });

  it('goes with each call, as a part of the step that makes it', async () => {
    await edge.ask('claude-sonnet', { headers: sampled });
    const all = await spans();
    const idOf = (step: string) => all.find(({ name }) => name === step)?.spanId;
    const callers = edge.calls.map(({ what, traceparent }) => [what, traceparent?.split('-')[2]]);
    expect(callers).toEqual([
      ['admit', idOf('admit')],
      ['acquire', idOf('acquire')],
      ['execute', idOf('attempt')],
      ['settle', idOf('settle')],
    ]);
  });

  it.each([
    ['no', undefined],
    ['nonsense for', 'hello'],
    ['an all-zero', `00-${'0'.repeat(32)}-${callerSpanId}-01`],
    ['two', `${sampled.traceparent}, ${sampled.traceparent}`],
  ])('begins here when the client sends %s traceparent', async (_what, traceparent) => {
    await edge.ask('claude-sonnet', { headers: { ...(traceparent && { traceparent }) } });
    const server = await serverSpan();
    expect(server?.parentSpanId).toBeUndefined();
    expect(server?.traceId).not.toBe(traceId);
  });

  it('is another one for each request of a connection', async () => {
    using client = new RawClient(edge.port);
    const one = 'GET /v1/nothing HTTP/1.1\r\nhost: gateway\r\n\r\n';
    await client.send(one.repeat(2) + one.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n')).answer();
    const all = await spans();
    expect(all.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual(Array(3).fill(['GET', undefined]));
    expect(new Set(all.map((each) => each.traceId)).size).toBe(3);
  });

  it('is sampled as this gateway decides, whatever its client says', async () => {
    await edge.ask('claude-sonnet', { headers: { traceparent: notSampled } });
    expect(new Set((await spans()).map((each) => each.traceId))).toEqual(new Set([traceId]));
    expect(edge.calls.map(({ traceparent }) => traceparent?.endsWith('-01'))).toEqual([true, true, true, true]);
  });

  it('says nothing of what clients make up', async () => {
    edge.acquired = (model) => leaseOf('a', { model, modelUnlisted: true });
    await edge.ask('my-model', { headers: { 'x-request-id': 'my-request', 'user-agent': 'my-agent' } });
    await edge.get('/my-path?my-query');
    const all = await spans();
    expect(all.map(({ name }) => name)).toContain('GET');
    expect(JSON.stringify(all)).not.toContain('my-');
  });

  it('has no part in what goes on after it, such as asking for a limiter that is away', async () => {
    edge.isLimiterAway = true;
    const before = edge.heartbeats.length;
    await edge.ask('claude-sonnet', { headers: sampled });
    await expect.poll(() => edge.heartbeats.length).toBeGreaterThan(before + 1);
    expect(edge.calls[0]).toMatchObject({ what: 'admit', traceparent: expect.stringContaining(traceId) });
    expect(edge.heartbeats.filter((traceparent) => traceparent !== undefined)).toEqual([]);
    await spans();
  });

  it('is to be kept when the request failed', async () => {
    edge.acquired = () => ({ case: 'unavailable', value: {} });
    await edge.ask('claude-sonnet');
    const error = 'subscription_unavailable';
    const attributes = { 'error.type': error, 'gateway.sampling.keep': true, 'gateway.sampling.reason': 'failed' };
    expect(await serverSpan()).toMatchObject({ error, attributes });
  });

  it('is to be kept when its answer broke off, and says how', async () => {
    edge.frames = () => [...streamed.slice(0, 2), ...failed];
    await edge.ask('claude-sonnet');
    const attributes = { 'http.response.status_code': 200, 'gateway.sampling.reason': 'failed' };
    expect(await serverSpan()).toMatchObject({ error: 'overloaded', attributes });
  });

  it('is to be kept when its answer began late', async () => {
    edge.beginsAfterMs = slowMs + 1;
    await edge.ask('claude-sonnet');
    expect((await serverSpan())?.attributes).toMatchObject({ 'gateway.sampling.reason': 'slow' });
  });

  it('is no failure of the gateway when a limit refuses it', async () => {
    edge.isLimited = true;
    await edge.ask('claude-sonnet');
    const all = await spans();
    expect(all.map(({ name, error }) => [name, error])).toEqual([
      ['POST /v1/messages', undefined],
      ['admit', undefined],
    ]);
    expect(all[0]?.attributes).toMatchObject({ 'error.type': 'rate_limit_exceeded', 'http.response.status_code': 429 });
    expect(all[0]?.attributes).not.toHaveProperty('gateway.sampling.keep');
    expect(all[1]?.attributes).toEqual({ 'gateway.limit': 'tokens_per_day' });
  });

  it('ends with the client that leaves', async () => {
    edge.frames = () => streamed.slice(0, 2);
    edge.hang = new Promise(() => undefined);
    const client = new AbortController();
    const body = { model: 'm', max_tokens: 1, stream: true, messages: [] };
    const { body: stream } = await edge.post('/v1/messages', body, { signal: client.signal });
    await stream?.getReader().read();
    client.abort();
    await expect.poll(() => edge.samples('gateway_open_streams')).toEqual(['gateway_open_streams 0']);
    const all = await spans();
    const attempt = all.find(({ name }) => name === 'attempt');
    expect(attempt?.attributes).toMatchObject({ 'gateway.attempt.cancel_reason': 'client_left' });
    expect(attempt?.error).toBeUndefined();
    expect(all[0]?.attributes).toMatchObject({ 'error.type': 'client_closed_request' });
  });

  it('is named by what was measured of it', async () => {
    await edge.ask('claude-sonnet', { headers: sampled });
    const page = () => edge.metrics.exposition(expositionType('application/openmetrics-text'));
    await expect.poll(page).toMatch(/http_server_request_duration_seconds_bucket\{.*200/);
    for (const name of [
      'http_server_request_duration',
      'gen_ai_server_request_duration',
      'gen_ai_server_time_to_first_token',
      'gen_ai_server_time_per_output_token',
    ]) {
      expect(await page()).toMatch(new RegExp(`^${name}_seconds_bucket\\{.*# \\{trace_id="${traceId}"`, 'm'));
    }
    await spans();
  });
});

describe('the trace of a request that a client says is to be sampled', () => {
  it.each([
    ['is not sampled where this gateway samples none', { trustsClientSampling: false, flags: '01', isSent: false }],
    ['is sampled where clients are trusted with it', { trustsClientSampling: true, flags: '01', isSent: true }],
    ['is not sampled where a trusted client says so', { trustsClientSampling: true, flags: '00', isSent: false }],
  ])('%s, with a token and without', async (_what, { trustsClientSampling, flags, isSent }) => {
    await using receiver = await OtlpReceiver.listen();
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
    vi.stubEnv('OTEL_TRACES_SAMPLER', trustsClientSampling && !isSent ? '' : 'parentbased_traceidratio');
    vi.stubEnv('OTEL_TRACES_SAMPLER_ARG', '0');
    const logger = createLogger('edge-router', 'silent');
    const tracing = await startTracing({ service: 'edge-router', logger, metrics: new Metrics() });
    try {
      const edge = await WholeEdge.start({ trustsClientSampling });
      const headers = { traceparent: `00-${traceId}-${callerSpanId}-${flags}` };
      expect((await edge.ask('claude-sonnet', { headers })).status).toBe(200);
      expect((await edge.get('/v1/models', { ...headers, authorization: 'Bearer none' })).status).toBe(401);
      await edge[Symbol.asyncDispose]();
      // Every service gets its ids, sampled or not.
      const flag = isSent ? '01' : '00';
      for (const { traceparent } of edge.calls) expect(traceparent).toMatch(new RegExp(`^00-${traceId}-.*-${flag}$`));
    } finally {
      await tracing?.[Symbol.asyncDispose]();
      vi.unstubAllEnvs();
    }
    const names = receiver.spans.map(({ name }) => name);
    if (isSent) expect(names).toEqual(expect.arrayContaining(['POST /v1/messages', 'GET /v1/models']));
    else expect(names).toEqual([]);
  });
});

const failed: readonly Frame[] = [
  {
    result: {
      attempt: { result: AttemptResult.OVERLOADED, upstreamStatus: 529 },
      error: { code: 'providers_unavailable', message: 'failed' },
    },
  },
];
