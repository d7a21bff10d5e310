import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '@gateway/errors';
import { replicaHeartbeatMs } from '@gateway/limits';
import { freePort, startRedis, type TestServer } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { admitMany, deadline, freshKey, type LimiterUnderTest, startLimiter, today } from './limiter-under-test.ts';
import { redisProxy } from './redis-proxy.ts';

/** How long anything that waited for Redis may take once Redis is back. */
const recovery = { timeout: roomMs(2_000), interval: 20 };
const limits = { requestsPerMinute: 5, tokensPerDay: 1_000 };

describe('a limiter whose Redis goes away', () => {
  let redis: TestServer;
  // A limiter that has not heard of any other.
  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(() => redis[Symbol.asyncDispose]());

  it('decides exactly by itself while Redis is frozen, and returns by itself', async () => {
    await using limiter = await startLimiter(redis.url);
    const { client, service, metric } = limiter;
    const key = freshKey();
    expect((await client.admit({ key, requestId: 'before', limits }, deadline)).status?.degraded).toBe(false);
    expect(
      (await client.settle({ key, requestId: 'before', localDay: today(), tokens: 900 }, deadline)).usedTokens,
    ).toBe(900);

    await redis.pause();
    const decisions = await admitMany(limiter, key, 20);
    expect(decisions.filter(({ isAdmitted }) => isAdmitted)).toHaveLength(4);
    expect(decisions.every(({ status }) => status?.degraded)).toBe(true);
    expect(decisions[0]?.status?.tokens?.remaining).toBe(100);
    expect(await service.notReady()).toBeUndefined();
    expect(await metric('degraded_total')).toBe(20);
    expect(await metric('store_away')).toBe(1);

    const settled = await client.settle({ key, requestId: 'during', localDay: today(), tokens: 100 }, deadline);
    expect(settled.usedTokens).toBe(1_000);
    expect(await metric('pending_settles')).toBe(1);

    await redis.resume();
    await expect
      .poll(async () => (await client.peek({ key, limits }, deadline)).status)
      .toMatchObject({
        degraded: false,
        tokens: { remaining: 0 },
        requests: { remaining: 0 },
      });
    await expect.poll(() => metric('pending_settles'), recovery).toBe(0);
    expect(await metric('store_away')).toBe(0);
    expect(
      (await client.settle({ key, requestId: 'during', localDay: today(), tokens: 100 }, deadline)).usedTokens,
    ).toBe(1_000);
  });

  it('admits no more than the limit when Redis is killed and comes back empty', async () => {
    await using limiter = await startLimiter(redis.url);
    const key = freshKey();
    const admitted = async (count: number) =>
      (await admitMany(limiter, key, count)).filter(({ isAdmitted }) => isAdmitted).length;
    expect(await admitted(3)).toBe(3);
    await redis.kill();
    expect(await admitted(1)).toBe(1);
    await redis.restart();
    const { client, metric } = limiter;
    await expect
      .poll(async () => (await client.peek({ key, limits }, deadline)).status)
      .toMatchObject({ degraded: false, requests: { remaining: 1 } });
    expect(await admitted(20)).toBe(1);
    expect(await metric('handed_over_admissions_total')).toBeGreaterThanOrEqual(4);
  });

  it('puts the windows of several limiters together again in a Redis that comes back empty', async () => {
    await using first = await startLimiter(redis.url);
    await using second = await startLimiter(redis.url);
    // By now the first has heard of the second as well.
    await sleep(replicaHeartbeatMs + roomMs(500));
    const key = freshKey();
    await admitMany(first, key, 2);
    await admitMany(second, key, 2);
    await redis.kill();
    let admitted = 4;
    for (const limiter of [first, second]) {
      const decisions = await admitMany(limiter, key, 3);
      expect(decisions.every(({ status }) => status?.degraded)).toBe(true);
      admitted += decisions.filter(({ isAdmitted }) => isAdmitted).length;
    }
    expect(admitted).toBe(5);
    await redis.restart();
    for (const { client } of [first, second])
      await expect.poll(async () => (await client.peek({ key, limits }, deadline)).status?.degraded).toBe(false);
    const lifted = { requestsPerMinute: 10 };
    expect((await first.client.peek({ key, limits: lifted }, deadline)).status?.requests?.remaining).toBe(5);
    expect((await admitMany(second, key, 5)).some(({ isAdmitted }) => isAdmitted)).toBe(false);
  });

  it('admits no more than the limit while limiters reach Redis again one after the other', async () => {
    await using links = new AsyncDisposableStack();
    const proxies = [links.use(await redisProxy(redis.url)), links.use(await redisProxy(redis.url))] as const;
    await using first = await startLimiter(proxies[0].url);
    await using second = await startLimiter(proxies[1].url);
    // By now the first has heard of the second as well.
    await sleep(replicaHeartbeatMs + roomMs(500));
    const key = freshKey();
    const admitted = async (limiter: LimiterUnderTest) =>
      (await admitMany(limiter, key, 20, 10)).filter(({ isAdmitted }) => isAdmitted).length;
    for (const proxy of proxies) proxy.cut(true);
    expect(await admitted(first)).toBe(5);
    expect(await admitted(second)).toBe(5);
    const ownWindow = { requestsPerMinute: 10 };
    proxies[0].cut(false);
    const peek = async ({ client }: LimiterUnderTest) =>
      (await client.peek({ key, limits: ownWindow }, deadline)).status;
    await expect.poll(() => peek(first)).toMatchObject({ degraded: false, requests: { remaining: 5 } });
    // Redis reserves room for admissions that the second has not handed over.
    expect(await admitted(first)).toBe(0);
    proxies[1].cut(false);
    await expect.poll(() => peek(first)).toMatchObject({ degraded: false, requests: { remaining: 0 } });
    for (const limiter of [first, second]) expect(await admitted(limiter)).toBe(0);
  });

  it('asks Redis alone again once all limiters are back, or two seconds after its own return', async () => {
    await using links = new AsyncDisposableStack();
    const proxies = [links.use(await redisProxy(redis.url)), links.use(await redisProxy(redis.url))] as const;
    await using first = await startLimiter(proxies[0].url);
    await using second = await startLimiter(proxies[1].url);
    await sleep(replicaHeartbeatMs + roomMs(500));
    for (const isSecondBack of [true, false]) {
      const key = freshKey();
      for (const proxy of proxies) proxy.cut(true);
      for (const limiter of [first, second]) await admitMany(limiter, key, 1, 10);
      proxies[0].cut(false);
      if (isSecondBack) proxies[1].cut(false);
      let admitted = 0;
      const admittedByFirst = async () => {
        admitted += (await admitMany(first, key, 1, 10)).filter(({ isAdmitted }) => isAdmitted).length;
        return admitted;
      };
      await expect.poll(admittedByFirst).toBe(isSecondBack ? 8 : 9);
    }
  });

  it('fails instead, with a wait, when it is set to', async () => {
    await using limiter = await startLimiter(redis.url, { env: { LIMITER_FAILURE_MODE: 'closed' } });
    const request = { key: freshKey(), requestId: 'a', limits };
    await limiter.client.admit(request, deadline);
    await redis.pause();
    const failure = await limiter.client.admit(request, deadline).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(GatewayError);
    expect(failure).toMatchObject({ code: 'providers_unavailable' });
    expect(await limiter.service.notReady()).toContain('away');
    await redis.resume();
    await expect.poll(() => limiter.service.notReady()).toBeUndefined();
    expect((await limiter.client.admit(request, deadline)).refusal).toBeUndefined();
  });

  it('starts before Redis does, and is ready once it reached it', async () => {
    const port = await freePort();
    await using limiter = await startLimiter(`redis://127.0.0.1:${port}`);
    expect(await limiter.service.notReady()).toContain('not been reached');
    // The limiter knows neither other limiters nor what it admitted before it started, so other
    // limiters or its callers decide.
    const tooEarly = limiter.client.admit({ key: freshKey(), requestId: 'a', limits }, deadline);
    await expect(tooEarly).rejects.toMatchObject({ name: 'RpcError', status: 'unavailable' });
    await using late = await startRedis({ port });
    expect(late.port).toBe(port);
    await expect.poll(() => limiter.service.notReady()).toBeUndefined();
    expect((await limiter.client.admit({ key: freshKey(), requestId: 'a', limits }, deadline)).status?.degraded).toBe(
      false,
    );
  });
});
