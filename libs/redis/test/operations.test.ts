import { EnvReader } from '@gateway/config';
import { createLogger, inSpan, Metrics, SpanKind, startSpan, startTracing, withSpan } from '@gateway/telemetry';
import { OtlpReceiver } from '@gateway/telemetry/testing';
import { startRedis, type TestServer } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openRedis, redisOperations, redisSettings, runScript, scriptOf, within } from '../src/index.ts';

describe('operations in Redis', () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startRedis();
    return () => server[Symbol.asyncDispose]();
  });

  async function opened() {
    const settings = redisSettings.required(new EnvReader({ REDIS_URL: server.url }), '');
    const redis = openRedis({ settings, silentMs: roomMs(1_000), isRepeatable: false });
    await redis.connect();
    onTestFinished(() => redis.disconnect());
    const metrics = new Metrics();
    const operation = redisOperations(metrics);
    const counts = async () => {
      const lines = (await metrics.exposition()).split('\n');
      const ended = lines.flatMap((line) => /_seconds_count\{(.*)\} (\d+)$/.exec(line)?.slice(1).join(' ') ?? []);
      return ended.map((labels) => labels.replace(/(db_(system|operation)_name|error_type)=/g, '').replaceAll('"', ''));
    };
    const isUp = async () => (await metrics.exposition()).match(/^gateway_backend_up\{backend="redis"\} (\d)$/m)?.[1];
    return { redis, operation, counts, isUp, metrics };
  }

  it('are measured by the name of their script or command, and what they failed of', async () => {
    const { redis, operation, counts } = await opened();
    for (let n = 0; n < 2; n++) await operation('get', () => redis.get('a'));
    const add = scriptOf("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    expect(await operation('add', () => runScript(redis, add, ['a'], [2]))).toBe(2);
    await redis.set('a', 'text');
    await expect(operation('add', () => runScript(redis, add, ['a'], [2]))).rejects.toThrow();
    expect(await counts()).toEqual(['redis,get, 2', 'redis,add, 1', 'redis,add,ERR 1']);
  });

  it('say whether Redis is up: not when it gives no sign of life, nor without it; but with an error of its own', async () => {
    const { redis, operation, counts, isUp } = await opened();
    expect(await isUp()).toBeUndefined();
    await expect(operation('incr', () => redis.lpush('list', '1').then(() => redis.incr('list')))).rejects.toThrow(
      'WRONGTYPE',
    );
    expect(await isUp()).toBe('1');
    await server.pause();
    await expect(operation('get', () => redis.get('a'))).rejects.toThrow();
    expect(await isUp()).toBe('0');
    await server.resume();
    await expect.poll(() => operation('get', () => redis.get('b'))).toBeNull();
    expect(await isUp()).toBe('1');
    await server.kill();
    await expect
      .poll(() => operation('get', () => within(300, redis.get('b'))).catch(String))
      .toMatch(/writeable|closed/);
    expect(await isUp()).toBe('0');
    expect(await counts()).toEqual(
      expect.arrayContaining(['redis,incr,WRONGTYPE 1', expect.stringContaining('unreachable')]),
    );
  });

  it('are spans of the request that waits for them, when that is traced, and else none', async () => {
    const receiver = await OtlpReceiver.listen();
    onTestFinished(() => receiver[Symbol.asyncDispose]());
    const { redis, operation, metrics } = await opened();
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
    onTestFinished(() => void vi.unstubAllEnvs());
    const tracing = await startTracing({ service: 'test', logger: createLogger('test', 'silent'), metrics });
    const get = () => operation('get', () => redis.get('a'));
    await get();
    await inSpan('request', { kind: SpanKind.SERVER }, async () => {
      await get();
      await expect(operation('incr', () => redis.lpush('list', '1').then(() => redis.incr('list')))).rejects.toThrow();
    });
    const unsampled = startSpan('unsampled', { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00` });
    await withSpan(unsampled, get);
    await tracing?.[Symbol.asyncDispose]();
    const request = receiver.spans.find(({ name }) => name === 'request') ?? expect.fail();
    const ofRequest = receiver.spans.filter(({ parentSpanId }) => parentSpanId === request.spanId);
    expect(receiver.spans).toHaveLength(3);
    expect(ofRequest.map(({ name, kind, attributes, error }) => ({ name, kind, attributes, error }))).toEqual([
      {
        ...{ name: 'get', kind: 'client', error: undefined },
        attributes: { 'db.system.name': 'redis', 'db.operation.name': 'get' },
      },
      {
        ...{ name: 'incr', kind: 'client', error: 'ReplyError' },
        attributes: expect.objectContaining({ 'error.type': 'ReplyError' }),
      },
    ]);
  });
});
