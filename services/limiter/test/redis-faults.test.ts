import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRedis, type TestServer } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admitMany, deadline, freshKey, startLimiter, today } from './limiter-under-test.ts';
import { redisProxy } from './redis-proxy.ts';
import { UsageLedger } from './usage-ledger.ts';

/** How long recovery may take once Redis works again. */
const recovery = { timeout: roomMs(2_000), interval: 20 };
const limits = { requestsPerMinute: 5, tokensPerDay: 1_000 };

describe('a limiter', () => {
  let redis: TestServer;
  let driver: Redis;
  beforeAll(async () => {
    redis = await startRedis();
    driver = new Redis(redis.url);
  });
  // The limiter has not heard of any other.
  beforeEach(() => driver.flushall());
  afterAll(async () => {
    driver.disconnect();
    await redis[Symbol.asyncDispose]();
  });

  const windowOf = (key: string) => driver.zrange(`rl:{${key}}:m`, '0', '-1');
  const infoOf = async (section: string, name: string) =>
    new RegExp(`^${name}:(\\S+)`, 'm').exec(await driver.info(section))?.[1];

  describe('whose Redis is out of memory', () => {
    it('goes on alone in one outage, loses nothing, and returns when there is memory again', async () => {
      await using limiter = await startLimiter(redis.url);
      const { client, service, metric } = limiter;
      const before = freshKey();
      await admitMany(limiter, before, 2);
      await client.settle({ key: before, requestId: 'a', localDay: today(), tokens: 30 }, deadline);
      const keysBefore = await driver.dbsize();
      await driver.config('SET', 'maxmemory-policy', 'noeviction');
      await driver.config('SET', 'maxmemory', '1');
      const key = freshKey();
      try {
        const decisions = await admitMany(limiter, key, 20);
        expect(decisions.filter(({ isAdmitted }) => isAdmitted)).toHaveLength(5);
        expect(decisions.every(({ status }) => status?.degraded)).toBe(true);
        await client.settle({ key: before, requestId: 'b', localDay: today(), tokens: 12 }, deadline);
        // Several times the interval of probes: Redis answers, but too slowly to be usable.
        await sleep(1_000);
        expect((await admitMany(limiter, before, 1))[0]?.status).toMatchObject({
          degraded: true,
          requests: { remaining: 2 },
        });
        expect(await metric('store_outages_total')).toBe(1);
        expect(await metric('store_away')).toBe(1);
        expect(await metric('pending_settles')).toBe(1);
        expect(await service.notReady()).toBeUndefined();
        expect(await infoOf('stats', 'evicted_keys')).toBe('0');
        expect(await driver.dbsize()).toBe(keysBefore);
      } finally {
        await driver.config('SET', 'maxmemory', '0');
      }
      await expect
        .poll(async () => (await client.peek({ key, limits }, deadline)).status, recovery)
        .toMatchObject({ degraded: false, requests: { remaining: 0 } });
      expect((await client.peek({ key: before, limits }, deadline)).status).toMatchObject({
        requests: { remaining: 2 },
        tokens: { remaining: 958 },
      });
      expect(await metric('store_away')).toBe(0);
      await expect.poll(() => metric('pending_settles'), recovery).toBe(0);
    });
  });

  describe('whose Redis is emptied while it is in use', () => {
    it('begins the minute anew, and its day total is the ledger’s within two seconds', async () => {
      const ledger = new UsageLedger();
      const env = { LIMITER_RECONCILE_SECONDS: '1' };
      await using limiter = await startLimiter(redis.url, { env, usageQuery: ledger.usageQuery });
      const { client, metric } = limiter;
      const key = `token:${randomUUID()}`;
      const generous = { requestsPerMinute: 10_000, tokensPerDay: 1_000_000 };
      const used = async () => {
        const { status } = await client.admit({ key, requestId: randomUUID(), limits: generous }, deadline);
        expect(status?.degraded).toBe(false);
        return 1_000_000 - Number(status?.tokens?.remaining);
      };
      /** A request that reaches the ledger some time after it was settled. */
      const request = async (n: number) => {
        const requestId = `request-${n}`;
        await client.settle({ key, requestId, localDay: today(), tokens: n + 1 }, deadline);
        await sleep(300);
        ledger.ingest(requestId, n + 1);
      };
      const requests: Promise<void>[] = [];
      for (let n = 0; n < 100; n++) {
        requests.push(request(n));
        if (n % 5 === 0) await used();
        if (n === 60) {
          expect(await driver.zcard(`rl:{${key}}:m`)).toBeGreaterThan(10);
          await driver.flushall();
          await used();
          expect(await driver.zcard(`rl:{${key}}:m`)).toBe(1);
        }
        await sleep(10);
      }
      await Promise.all(requests);
      expect(ledger.total).toBe(5_050);
      await expect.poll(used, recovery).toBe(5_050);
      await sleep(roomMs(1_500));
      expect(await used()).toBe(5_050);
      expect(await metric('day_corrections_total')).toBeGreaterThan(0);
      expect(await metric('store_outages_total')).toBe(0);
    });

    it('keeps so many pending requests by their ids, and agrees with the ledger when it has caught up', async () => {
      const ledger = new UsageLedger();
      const env = { LIMITER_RECONCILE_SECONDS: '1' };
      await using limiter = await startLimiter(redis.url, { env, usageQuery: ledger.usageQuery });
      const { client } = limiter;
      const key = `token:${randomUUID()}`;
      const ids = Array.from({ length: 12_000 }, (_, n) => `request-${n}`);
      for (let start = 0; start < ids.length; start += 1_000) {
        await Promise.all(
          ids
            .slice(start, start + 1_000)
            .map((requestId) => client.settle({ key, requestId, localDay: today(), tokens: 3 }, deadline)),
        );
      }
      const pending = `rl:{${key}}:d:${today()}:pending`;
      expect(await driver.hlen(pending)).toBe(10_000);
      const usedNow = await client.peek({ key, limits: { tokensPerDay: 100_000 } }, deadline);
      expect(usedNow.status?.tokens?.remaining).toBe(64_000);
      for (const id of ids) ledger.ingest(id, 3);
      await expect
        .poll(
          async () => {
            await client.admit({ key, requestId: randomUUID(), limits }, deadline);
            return driver.hlen(pending);
          },
          { interval: 50 },
        )
        .toBe(0);
      expect(ledger.mostAsked).toBe(10_000);
      const { status } = await client.peek({ key, limits: { tokensPerDay: 100_000 } }, deadline);
      expect(status?.tokens?.remaining).toBe(64_000);
    });
  });

  describe('whose Redis forgets its scripts', () => {
    it('notices nothing, and counts each request once', async () => {
      await using limiter = await startLimiter(redis.url);
      const key = freshKey();
      const flushing = Array.from({ length: 20 }, async (_, n) => {
        await sleep(n * 5);
        await driver.script('FLUSH');
      });
      const decisions = await Promise.all(
        Array.from({ length: 40 }, async (_, n) => {
          await sleep(n * 3);
          return admitMany(limiter, key, 5, 150);
        }),
      );
      await Promise.all(flushing);
      const admitted = decisions.flat().filter(({ isAdmitted }) => isAdmitted);
      expect(admitted).toHaveLength(150);
      expect((await windowOf(key)).toSorted()).toEqual(admitted.map(({ requestId }) => requestId).toSorted());
      expect(await limiter.metric('store_outages_total')).toBe(0);
    });
  });

  describe('whose Redis ends behind a load balancer that accepts and closes connections', () => {
    it('answers what was in flight, goes on alone, and every request has one slot afterwards', async () => {
      await using proxy = await redisProxy(redis.url);
      await using limiter = await startLimiter(proxy.url);
      const key = freshKey();
      proxy.loseAnswers(true);
      const inFlight = admitMany(limiter, key, 1);
      await expect.poll(() => windowOf(key)).toHaveLength(1);
      proxy.cut(true);
      const decisions = [...(await inFlight), ...(await admitMany(limiter, key, 1))];
      expect(decisions.every(({ isAdmitted, status }) => isAdmitted && status?.degraded)).toBe(true);
      expect(await limiter.metric('store_outages_total')).toBe(1);
      proxy.loseAnswers(false);
      proxy.cut(false);
      await expect
        .poll(async () => (await limiter.client.peek({ key, limits }, deadline)).status, recovery)
        .toMatchObject({ degraded: false, requests: { remaining: 3 } });
      expect((await windowOf(key)).toSorted()).toEqual(decisions.map(({ requestId }) => requestId).toSorted());
    });
  });

  describe('that gets no answers from a Redis that does its work', () => {
    it('goes on alone, and every request has one slot afterwards', async () => {
      await using proxy = await redisProxy(redis.url);
      await using limiter = await startLimiter(proxy.url);
      const { client, metric } = limiter;
      const key = freshKey();
      const before = await admitMany(limiter, key, 10, 50);
      proxy.loseAnswers(true);
      const startedMs = performance.now();
      const during = await admitMany(limiter, key, 20, 50);
      const settled = await client.settle({ key, requestId: 'a', localDay: today(), tokens: 7 }, deadline);
      expect(performance.now() - startedMs).toBeLessThan(roomMs(6_000));
      expect(settled.usedTokens).toBe(7);
      expect(during.every(({ isAdmitted, status }) => isAdmitted && status?.degraded)).toBe(true);
      expect(await metric('degraded_total')).toBe(20);
      proxy.loseAnswers(false);
      await expect
        .poll(async () => (await client.peek({ key, limits }, deadline)).status, recovery)
        .toMatchObject({ degraded: false, tokens: { remaining: 993 } });
      const after = await admitMany(limiter, key, 40, 50);
      const admitted = [...before, ...during, ...after].filter(({ isAdmitted }) => isAdmitted);
      expect(admitted).toHaveLength(50);
      expect((await windowOf(key)).toSorted()).toEqual(admitted.map(({ requestId }) => requestId).toSorted());
      expect(await metric('store_outages_total')).toBe(1);
    });
  });
});
