import { randomUUID } from 'node:crypto';
import { GatewayError } from '@gateway/errors';
import { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type Client, directClient, type ServiceRoute } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { freePort, startRedis, type TestServer } from '@gateway/testkit';
import { localDayOf } from '@gateway/time';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLimiterFromEnvironment } from '../src/service.ts';

const patience = { timeout: 15_000, interval: 50 };

/** A limiter as it runs by itself, on a Redis of the test's own. */
async function startLimiter(redisUrl: string, env: Readonly<Record<string, string>> = {}) {
  const metrics = new Metrics();
  const runtime = { logger: createLogger('limiter', 'silent'), metrics };
  const service = await createLimiterFromEnvironment(
    // More than the default: on a busy test machine a healthy Redis must not look like one that is away.
    { REDIS_URL: redisUrl, LIMITER_REDIS_TIMEOUT_MS: '1000', ...env },
    runtime,
  );
  await service.start();
  const [route] = service.routes;
  if (route?.service !== LimiterService) throw new Error('the limiter serves something else');
  const client: Client<typeof LimiterService> = directClient(route as ServiceRoute<typeof LimiterService>);
  const metric = async (name: string) => (await metrics.registry.getSingleMetric(name)?.get())?.values[0]?.value;
  return { service, client, metric, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

const limits = { requestsPerMinute: 5, tokensPerDay: 1_000n };
const freshKey = () => `test:${randomUUID()}`;
const today = () => localDayOf(Date.now());
// A call that hung would fail by this deadline, far above the time that Redis is given.
const deadline = { timeoutMs: 5_000 };

function admitMany(client: Client<typeof LimiterService>, key: string, count: number) {
  return Promise.all(
    Array.from({ length: count }, () => client.admit({ key, requestId: randomUUID(), limits }, deadline)),
  );
}

describe('a limiter whose Redis goes away', () => {
  let redis: TestServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis[Symbol.asyncDispose]());

  it('decides exactly by itself while Redis is frozen, and returns by itself', async () => {
    await using limiter = await startLimiter(redis.url);
    const { client, service, metric } = limiter;
    const key = freshKey();
    expect((await client.admit({ key, requestId: 'before', limits }, deadline)).status?.degraded).toBe(false);
    expect(
      (await client.settle({ key, requestId: 'before', localDay: today(), tokens: 900n }, deadline)).usedTokens,
    ).toBe(900n);

    await redis.pause();
    const decisions = await admitMany(client, key, 20);
    expect(decisions.filter(({ refusal }) => refusal === undefined)).toHaveLength(5);
    expect(decisions.every(({ status }) => status?.degraded)).toBe(true);
    expect(decisions[0]?.status?.tokens?.remaining).toBe(100n);
    expect(await service.notReady()).toBeUndefined();
    expect(await metric('gateway_limiter_degraded_total')).toBe(20);

    const settled = await client.settle({ key, requestId: 'during', localDay: today(), tokens: 100n }, deadline);
    expect(settled.usedTokens).toBe(1_000n);
    expect(await metric('gateway_limiter_pending_settles')).toBe(1);

    await redis.resume();
    await expect
      .poll(async () => (await client.peek({ key, limits }, deadline)).status, patience)
      .toMatchObject({
        degraded: false,
        tokens: { remaining: 0n },
      });
    expect(await metric('gateway_limiter_pending_settles')).toBe(0);
    expect(
      (await client.settle({ key, requestId: 'during', localDay: today(), tokens: 100n }, deadline)).usedTokens,
    ).toBe(1_000n);
  });

  it('goes on without Redis after it was killed, and with it when it is back, empty', async () => {
    await using limiter = await startLimiter(redis.url);
    const key = freshKey();
    await admitMany(limiter.client, key, 5);
    await redis.kill();
    const decisions = await admitMany(limiter.client, key, 20);
    expect(decisions.filter(({ refusal }) => refusal === undefined)).toHaveLength(5);
    await redis.restart();
    await expect
      .poll(async () => (await limiter.client.peek({ key, limits }, deadline)).status, patience)
      .toMatchObject({ degraded: false, requests: { remaining: 5 } });
  });

  it('fails with internal_error instead when it is told to', async () => {
    await using limiter = await startLimiter(redis.url, { LIMITER_FAILURE_MODE: 'closed' });
    const request = { key: freshKey(), requestId: 'a', limits };
    await limiter.client.admit(request, deadline);
    await redis.pause();
    const failure = await limiter.client.admit(request, deadline).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(GatewayError);
    expect(failure).toMatchObject({ code: 'internal_error' });
    expect(await limiter.service.notReady()).toContain('away');
    await redis.resume();
    await expect.poll(() => limiter.service.notReady(), patience).toBeUndefined();
    expect((await limiter.client.admit(request, deadline)).refusal).toBeUndefined();
  });

  it('starts before Redis does, and is ready once it reached it', async () => {
    const port = await freePort();
    await using limiter = await startLimiter(`redis://127.0.0.1:${port}`);
    expect(await limiter.service.notReady()).toContain('not been reached');
    expect((await limiter.client.admit({ key: freshKey(), requestId: 'a', limits }, deadline)).status?.degraded).toBe(
      true,
    );
    await using late = await startRedis({ port });
    expect(late.port).toBe(port);
    await expect.poll(() => limiter.service.notReady(), patience).toBeUndefined();
    expect((await limiter.client.admit({ key: freshKey(), requestId: 'a', limits }, deadline)).status?.degraded).toBe(
      false,
    );
  });
});
