import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRedis, type TestServer } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admitMany, deadline, freshKey, redisIsAway, startLimiter, today } from './limiter-under-test.ts';
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
    it('decides nothing in one outage, loses nothing, and returns when there is memory again', async () => {
      await using limiter = await startLimiter(redis.url);
      const { client, service, metric } = limiter;
      const key = freshKey();
      await admitMany(limiter, key, 2);
      await client.settle({ key, requestId: 'a', localDay: today(), tokens: 30 }, deadline);
      const keysBefore = await driver.dbsize();
      await driver.config('SET', 'maxmemory-policy', 'noeviction');
      await driver.config('SET', 'maxmemory', '1');
      try {
        await expect(admitMany(limiter, freshKey(), 20)).rejects.toMatchObject(redisIsAway);
        // Several times the interval of probes: Redis answers, but too slowly to be usable.
        await sleep(1_000);
        await expect(admitMany(limiter, freshKey(), 1)).rejects.toMatchObject(redisIsAway);
        expect([await metric('store_outages_total'), await metric('store_away')]).toEqual([1, 1]);
        expect(await service.notReady()).toBeUndefined();
        expect(await infoOf('stats', 'evicted_keys')).toBe('0');
        expect(await driver.dbsize()).toBe(keysBefore);
      } finally {
        await driver.config('SET', 'maxmemory', '0');
      }
      await expect
        .poll(async () => (await client.peek({ key, limits }, deadline).catch(() => undefined))?.status, recovery)
        .toMatchObject({ requests: { remaining: 3 }, tokens: { remaining: 970 } });
      await expect.poll(() => metric('store_away'), recovery).toBe(0);
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

  describe.each([
    { name: 'whose Redis ends behind a load balancer that accepts and closes connections', cuts: true },
    { name: 'that gets no answers from a Redis that does its work', cuts: false },
  ])('$name', ({ cuts }) => {
    it('answers what was in flight that it is away, and a repeated request has one slot afterwards', async () => {
      await using proxy = await redisProxy(redis.url);
      await using limiter = await startLimiter(proxy.url);
      const { client, metric } = limiter;
      const key = freshKey();
      const admit = (requestId: string) => client.admit({ key, requestId, limits }, deadline);
      await admit('before');
      proxy.loseAnswers(true);
      const inFlight = admit('a').catch((thrown: unknown) => thrown);
      await expect.poll(() => windowOf(key)).toHaveLength(2);
      if (cuts) proxy.cut(true);
      expect(await inFlight).toMatchObject(redisIsAway);
      await expect(admit('b')).rejects.toMatchObject(redisIsAway);
      expect(await metric('store_outages_total')).toBe(1);
      proxy.loseAnswers(false);
      proxy.cut(false);
      const again = async (requestId: string) => (await admit(requestId).catch(() => undefined))?.status?.requests;
      await expect.poll(() => again('a'), recovery).toMatchObject({ remaining: 3 });
      expect(await again('b')).toMatchObject({ remaining: 2 });
      expect((await windowOf(key)).toSorted()).toEqual(['a', 'b', 'before']);
      expect(await metric('store_outages_total')).toBe(1);
    });
  });
});
