import { create } from '@bufbuild/protobuf';
import { UsageSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult, LeaseSchema, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { AcquireResponseSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { createLogger, Metrics } from '@gateway/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { leaseOf, streamed, WholeEdge } from './__fixtures__/whole-edge.ts';
import { BodyMemory } from './body/body-memory.ts';
import { createEvents } from './events.ts';
import { LoggedRequest } from './usage/__fixtures__/logged-request.ts';

const logger = createLogger('edge-router', 'silent');

describe('the metrics of requests', () => {
  let edge: WholeEdge;
  beforeEach(async () => {
    edge = await WholeEdge.start();
  });
  afterEach(() => edge[Symbol.asyncDispose]());

  const durations = () => edge.samples('http_server_request_duration_seconds_count');
  const routed = (method: string, route: string, status: number, error = '') =>
    `http_server_request_duration_seconds_count{http_request_method="${method}",http_route="${route}",http_response_status_code="${status}",error_type="${error}"} 1`;

  it('have its method, endpoint and status', async () => {
    await edge.ask('claude-sonnet');
    await edge.get('/v1/models');
    await expect.poll(durations).toEqual([routed('POST', '/v1/messages', 200), routed('GET', '/v1/models', 200)]);
  });

  it('have nothing that clients make up: paths and methods that are none of ours share a series', async () => {
    await edge.get('/v1/nothing?here=1');
    await edge.get('/.env');
    await edge.post('/v1/models', {});
    await expect
      .poll(durations)
      .toEqual([routed('GET', 'other', 404).replace(/1$/, '2'), routed('POST', '/v1/models', 405)]);
    expect(await edge.samples('gateway_refusals_total')).toEqual([
      'gateway_refusals_total{code="not_found",limit="none"} 2',
      'gateway_refusals_total{code="method_not_allowed",limit="none"} 1',
    ]);
  });

  it('say why requests are refused, and by which limit', async () => {
    edge.isLimited = true;
    expect((await edge.ask('claude-sonnet')).status).toBe(429);
    expect((await edge.ask('claude-sonnet', { headers: { authorization: 'none' } })).status).toBe(401);
    expect(await edge.samples('gateway_refusals_total')).toEqual([
      'gateway_refusals_total{code="rate_limit_exceeded",limit="tokens_per_day"} 1',
      'gateway_refusals_total{code="unauthorized",limit="none"} 1',
    ]);
    await expect.poll(durations).toEqual([routed('POST', '/v1/messages', 429), routed('POST', '/v1/messages', 401)]);
  });

  it('name the error of those that failed, by our code', async () => {
    edge.acquired = () => ({ case: 'unavailable', value: {} });
    expect((await edge.ask('claude-sonnet')).status).toBe(503);
    await expect.poll(durations).toEqual([routed('POST', '/v1/messages', 503, 'subscription_unavailable')]);
  });

  it('count those under way and the streams among them until they end, also when the client leaves', async () => {
    const hanging = Promise.withResolvers<never>();
    edge.frames = () => streamed.slice(0, 2);
    edge.hang = hanging.promise;
    const client = new AbortController();
    const body = { model: 'm', max_tokens: 1, stream: true, messages: [] };
    const { body: stream } = await edge.post('/v1/messages', body, { signal: client.signal });
    await stream?.getReader().read();
    expect(await edge.samples('http_server_active_requests')).toEqual([
      'http_server_active_requests{http_request_method="POST"} 1',
    ]);
    expect(await edge.samples('gateway_open_streams')).toEqual(['gateway_open_streams 1']);
    client.abort();
    await expect.poll(durations).toEqual([routed('POST', '/v1/messages', 499, 'client_closed_request')]);
    expect(await edge.samples('http_server_active_requests')).toEqual([
      'http_server_active_requests{http_request_method="POST"} 0',
    ]);
    expect(await edge.samples('gateway_open_streams')).toEqual(['gateway_open_streams 0']);
  });

  it('count a move to another account by what became of the one before', async () => {
    edge.acquired = (model, attempts) => leaseOf(attempts === 0 ? 'a' : 'b', { model });
    edge.frames = (account) => (account === 'pool/a' ? failed(AttemptResult.OVERLOADED) : streamed);
    expect((await edge.ask('claude-sonnet')).status).toBe(200);
    expect(await edge.samples('gateway_failovers_total')).toEqual(['gateway_failovers_total{reason="overloaded"} 1']);
  });

  it('show the memory of bodies', async () => {
    expect(await edge.samples('gateway_body_memory_bytes')).toEqual(['gateway_body_memory_bytes 0']);
    expect(await edge.samples('gateway_body_memory_limit_bytes')).toEqual([
      `gateway_body_memory_limit_bytes ${512 * 1024 * 1024}`,
    ]);
    expect(await edge.samples('gateway_body_waiting_uploads')).toEqual(['gateway_body_waiting_uploads 0']);
  });

  const answers = () => edge.samples('gen_ai_server_request_duration_seconds_count');
  const answered = (model: string, count: number, provider = 'anthropic', error = '', operation = 'chat') =>
    `gen_ai_server_request_duration_seconds_count{gen_ai_operation_name="${operation}",gen_ai_provider_name="${provider}",gen_ai_request_model="${model}",error_type="${error}"} ${count}`;

  it('know 1,000 made-up models as one', async () => {
    edge.acquired = (model) => (model === 'claude-sonnet' ? leaseOf('a') : { case: 'unknownModel', value: {} });
    await edge.ask('claude-sonnet');
    await expect.poll(answers).toHaveLength(1);
    await edge.ask('made-up');
    await expect.poll(answers).toHaveLength(2);
    const series = async () => (await edge.metrics.exposition()).split('\n');
    const before = await series();
    for (let n = 0; n < 999; n++) await edge.ask(`made-up-${n}`);
    await expect
      .poll(answers)
      .toEqual([answered('claude-sonnet', 1), answered('other', 1_000, 'other', 'model_not_found')]);
    expect(await series()).toHaveLength(before.length);
  });

  it('do not name a model either that a pool takes by its pattern, while nothing lists it', async () => {
    edge.acquired = (model) => leaseOf('a', { model, modelUnlisted: true });
    for (let n = 0; n < 5; n++) await edge.ask(`claude-made-up-${n}`);
    await expect.poll(answers).toEqual([answered('other', 5)]);
  });

  it('name the model of a class, also where the class has no account left', async () => {
    edge.acquired = () => leaseOf('a');
    await edge.ask('gateway/claude');
    edge.acquired = () => ({ case: 'exhausted', value: {} });
    await edge.ask('gateway/claude');
    await edge.ask('gateway/never-served');
    await expect
      .poll(answers)
      .toEqual([
        answered('claude-sonnet', 1),
        answered('claude-sonnet', 1, 'anthropic', 'pool_exhausted'),
        answered('other', 1, 'other', 'pool_exhausted'),
      ]);
  });

  it('say that an answer broke off, though its status was 200', async () => {
    edge.frames = () => [...streamed.slice(0, 2), ...failed(AttemptResult.SERVER_ERROR)];
    expect((await edge.ask('claude-sonnet')).status).toBe(200);
    await expect.poll(answers).toEqual([answered('claude-sonnet', 1, 'anthropic', 'server_error')]);
  });

  it('tell counting of tokens from answers, which alone have a first token', async () => {
    const body = { model: 'claude-sonnet', messages: [] };
    expect((await edge.post('/v1/messages/count_tokens', body)).status).toBe(200);
    await expect.poll(answers).toEqual([answered('claude-sonnet', 1, 'anthropic', '', 'count_tokens')]);
    expect(await edge.samples('gen_ai_server_time_to_first_token_seconds_count')).toEqual([]);
    await edge.ask('claude-sonnet');
    expect(await edge.samples('gen_ai_server_time_to_first_token_seconds_count')).toEqual([
      'gen_ai_server_time_to_first_token_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="anthropic",gen_ai_request_model="claude-sonnet"} 1',
    ]);
  });
});

describe('the times of an answer', () => {
  /** A streamed answer of five tokens: the first one after two seconds, the end a second later. */
  async function timed(end: (request: LoggedRequest) => LoggedRequest, outputTokens = 5, estimated = false) {
    const metrics = new Metrics();
    const events = createEvents({ logger, metrics });
    const request = new LoggedRequest().read().lease('a');
    request.wait(1_999.5).entry.onAnswering();
    request.entry.onStreaming();
    events.requestStarted('POST');
    events.streamBegan(request.entry);
    end(request.wait(1_000));
    const [attempt = expect.fail()] = request.message.attempts;
    attempt.usage = create(UsageSchema, { inputTokens: 1, outputTokens, estimated });
    events.requestEnded('POST', 'chat', request.end().entry);
    const page = await metrics.exposition();
    const sum = (name: string) =>
      Number(new RegExp(`^gen_ai_server_${name}_seconds_sum\\{.*\\} (.*)$`, 'm').exec(page)?.[1]);
    return [sum('request_duration'), sum('time_to_first_token'), sum('time_per_output_token')];
  }
  const whole = (request: LoggedRequest) => request.fail(AttemptResult.SUCCEEDED, 200);

  it('are to its first token, to its end, and for each token after the first', async () => {
    expect(await timed(whole)).toEqual([3, 2, 0.25]);
  });

  it('say nothing of single tokens of an answer that broke off, or that nobody counted', async () => {
    expect(await timed((request) => request.fail(AttemptResult.TIMEOUT))).toEqual([3, 2, Number.NaN]);
    expect(await timed(whole, 5, true)).toEqual([3, 2, Number.NaN]);
    expect(await timed(whole, 1)).toEqual([3, 2, Number.NaN]);
  });

  it('are counted by the format of the account', async () => {
    const metrics = new Metrics();
    const request = new LoggedRequest().read();
    const value = create(LeaseSchema, { model: 'gpt-5.5', format: ProviderFormat.RESPONSES });
    request.entry.onAcquired(create(AcquireResponseSchema, { result: { case: 'lease', value } }));
    createEvents({ logger, metrics }).requestEnded('POST', 'chat', request.answer().end().entry);
    expect(await metrics.exposition()).toContain('gen_ai_provider_name="openai",gen_ai_request_model="gpt-5.5"');
  });
});

describe('the memory of bodies', () => {
  it('is read when it is shown: what is taken, and who waits', async () => {
    const metrics = new Metrics();
    const memory = new BodyMemory({ limitBytes: 1_000, largestBodyBytes: 1_000, waitMs: 10_000 });
    createEvents({ logger, metrics }).showBodyMemory(memory);
    const client = new AbortController();
    using one = memory.open('t', client.signal);
    await one.take(900);
    using other = memory.open('u', client.signal);
    const waiting = other.take(200);
    expect(await metrics.exposition()).toMatch(/^gateway_body_memory_bytes 900\n.*^gateway_body_waiting_uploads 1\n/ms);
    client.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'providers_unavailable' });
    expect(await metrics.exposition()).toContain('gateway_body_waiting_uploads 0\n');
  });
});

function failed(result: AttemptResult) {
  return [{ result: { attempt: { result }, error: { code: 'providers_unavailable', message: 'failed' } } }];
}
