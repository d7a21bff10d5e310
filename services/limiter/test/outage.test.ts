import { freePort, startRedis, type TestServer } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { epochMs } from '@gateway/time';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { admitMany, deadline, freshKey, redisIsAway, startLimiter, today } from './limiter-under-test.ts';
import { redisProxy } from './redis-proxy.ts';

/** How long anything that waited for Redis may take once Redis is back. */
const recovery = { timeout: roomMs(2_000), interval: 20 };
const limits = { requestsPerMinute: 5, tokensPerDay: 1_000 };

describe('a limiter whose Redis goes away', () => {
  let redis: TestServer;
  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(() => redis[Symbol.asyncDispose]());

  it('decides nothing while Redis is frozen, says so with a wait, stays ready, and returns by itself', async () => {
    await using limiter = await startLimiter(redis.url);
    const { client, service, metric } = limiter;
    const key = freshKey();
    const admit = (requestId: string) => client.admit({ key, requestId, limits }, deadline);
    const settle = { key, requestId: 'before', localDay: today(), tokens: 900 };
    expect((await admit('before')).refusal).toBeUndefined();
    expect((await client.settle(settle, deadline)).usedTokens).toBe(900);
    await redis.pause();
    await expect(admit('during')).rejects.toMatchObject(redisIsAway);
    await expect(client.settle({ ...settle, requestId: 'during' }, deadline)).rejects.toMatchObject(redisIsAway);
    await expect(client.heartbeat({ group: 'edge', replicaId: 'e' }, deadline)).rejects.toMatchObject(redisIsAway);
    expect(await service.notReady()).toBeUndefined();
    expect([await metric('store_outages_total'), await metric('store_away')]).toEqual([1, 1]);
    await redis.resume();
    const isAdmitted = () =>
      admit('after').then(
        ({ refusal }) => refusal === undefined,
        () => false,
      );
    await expect.poll(isAdmitted, recovery).toBe(true);
    expect((await client.peek({ key, limits }, deadline)).status).toMatchObject({
      degraded: false,
      tokens: { remaining: 100 },
    });
    await expect.poll(() => metric('store_away'), recovery).toBe(0);
    expect(await metric('store_outages_total')).toBe(1);
  });

  it('tells replicas that Redis may have come back empty, and takes what they hand over', async () => {
    await using limiter = await startLimiter(redis.url);
    const { client } = limiter;
    const beat = (lastAnsweredAtMs?: number) =>
      client.heartbeat({ group: 'edge', replicaId: 'e', lastAnsweredAtMs }, deadline);
    await beat();
    const key = freshKey();
    await admitMany(limiter, key, 3);
    await redis.kill();
    await redis.restart();
    await expect.poll(() => beat().catch(() => undefined), recovery).toMatchObject({ new: true });
    const admissions = ['a', 'b', 'c'].map((requestId) => ({ key, requestId, ageMs: 100 }));
    await client.heartbeat({ group: 'edge:returning', replicaId: 'e', admissions }, deadline);
    expect((await admitMany(limiter, key, 20)).filter(({ isAdmitted }) => isAdmitted)).toHaveLength(2);
  });

  it('tells each replica once of a connection that broke and was made again at once', async () => {
    await using proxy = await redisProxy(redis.url);
    await using limiter = await startLimiter(proxy.url);
    const beat = (lastAnsweredAtMs?: number) =>
      limiter.client.heartbeat({ group: 'edge', replicaId: 'e', lastAnsweredAtMs }, deadline);
    const { answeredAtMs, new: isNew } = await beat();
    expect([isNew, (await beat(answeredAtMs)).new]).toEqual([true, false]);
    proxy.switchTo(redis.url);
    await expect.poll(async () => (await beat(answeredAtMs)).new, recovery).toBe(true);
    expect((await beat(epochMs())).new).toBe(false);
    expect(await limiter.metric('store_outages_total')).toBe(0);
  });

  it('starts before Redis does, and is ready once it reached it', async () => {
    const port = await freePort();
    await using limiter = await startLimiter(`redis://127.0.0.1:${port}`);
    expect(await limiter.service.notReady()).toContain('not been reached');
    const admit = () => limiter.client.admit({ key: freshKey(), requestId: 'a', limits }, deadline);
    await expect(admit()).rejects.toMatchObject(redisIsAway);
    await using late = await startRedis({ port });
    expect(late.port).toBe(port);
    await expect.poll(() => limiter.service.notReady()).toBeUndefined();
    expect((await admit()).refusal).toBeUndefined();
  });
});
