import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRedis, type TestServer } from '@gateway/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { admitMany, deadline, freshKey, startLimiter, today } from './limiter-under-test.ts';
import { UsageLedger } from './usage-ledger.ts';

const env = { REDIS_CLUSTER: 'true', LIMITER_RECONCILE_SECONDS: '1' };

describe('a limiter on a Redis Cluster', () => {
  let redis: TestServer;
  let driver: Redis;
  beforeAll(async () => {
    redis = await startRedis({ cluster: true });
    driver = new Redis(redis.url);
    // One node has all the slots: it still refuses a call whose keys lie in different ones.
    await driver.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    while (!(await driver.cluster('INFO')).includes('cluster_state:ok')) await sleep(50);
  });
  afterAll(async () => {
    driver.disconnect();
    await redis[Symbol.asyncDispose]();
  });

  it('decides, settles and reloads for many keys at once', async () => {
    const ledger = new UsageLedger();
    await using limiter = await startLimiter(redis.url, { env, usageQuery: ledger.usageQuery });
    const { client, metric } = limiter;
    const keys = [...Array.from({ length: 20 }, freshKey), `token:${randomUUID()}`, `token:${randomUUID()}`];
    const decisions = await Promise.all(keys.map((key) => admitMany(limiter, key, 10)));
    for (const ofKey of decisions) {
      expect(ofKey.filter(({ isAdmitted }) => isAdmitted)).toHaveLength(5);
      expect(ofKey.some(({ status }) => status?.degraded)).toBe(false);
    }
    const settled = await Promise.all(
      keys.map((key) => client.settle({ key, requestId: 'a', localDay: today(), tokens: 7n }, deadline)),
    );
    expect(settled.map(({ usedTokens }) => usedTokens)).toEqual(keys.map(() => 7n));
    ledger.ingest('a', 7);
    const pending = keys.slice(-2).map((key) => `rl:{${key}}:d:${today()}:pending`);
    await expect
      .poll(() => Promise.all(pending.map((name) => driver.exists(name))), { timeout: 5_000 })
      .toEqual([0, 0]);
    expect(await metric('store_outages_total')).toBe(0);
  });

  it('decides a batch of many keys over one stream', async () => {
    await using limiter = await startLimiter(redis.url, { env });
    async function* batch() {
      const limits = { requestsPerMinute: 1 };
      yield { checks: Array.from({ length: 200 }, () => ({ key: freshKey(), requestId: 'a', limits })) };
    }
    const [answer] = await Array.fromAsync(limiter.client.admitStream(batch(), deadline));
    expect(answer?.decisions.every(({ refusal, status }) => refusal === undefined && !status?.degraded)).toBe(true);
  });
});
