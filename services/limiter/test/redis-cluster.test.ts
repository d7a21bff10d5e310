import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestServer } from '@gateway/testkit';
import { type RedisGroup, startRedisCluster } from '@gateway/testkit/redis-groups';
import { Cluster } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { admitMany, deadline, freshKey, startLimiter, today } from './limiter-under-test.ts';
import { UsageLedger } from './usage-ledger.ts';

const env = { LIMITER_RECONCILE_SECONDS: '1' };

describe('a limiter on a Redis Cluster', () => {
  let redis: RedisGroup;
  let driver: Cluster;
  beforeAll(async () => {
    redis = await startRedisCluster();
    driver = new Cluster(redis.servers.map(({ port }) => ({ host: '127.0.0.1', port })));
  });
  afterAll(async () => {
    driver.disconnect();
    await redis[Symbol.asyncDispose]();
  });

  it('decides, settles and reloads for many keys at once', async () => {
    const ledger = new UsageLedger();
    await using limiter = await startLimiter(redis.url, {
      env,
      usageQuery: ledger.usageQuery,
    });
    const { client, metric } = limiter;
    const keys = [...Array.from({ length: 20 }, freshKey), `token:${randomUUID()}`, `token:${randomUUID()}`];
    const decisions = await Promise.all(keys.map((key) => admitMany(limiter, key, 10)));
    for (const ofKey of decisions) {
      expect(ofKey.filter(({ isAdmitted }) => isAdmitted)).toHaveLength(5);
    }
    const settled = await Promise.all(
      keys.map((key) => client.settle({ key, requestId: 'a', localDay: today(), tokens: 7 }, deadline)),
    );
    expect(settled.map(({ usedTokens }) => usedTokens)).toEqual(keys.map(() => 7));
    ledger.ingest('a', 7);
    const pending = keys.slice(-2).map((key) => `rl:{${key}}:d:${today()}:pending`);
    await expect.poll(() => Promise.all(pending.map((name) => driver.exists(name)))).toEqual([0, 0]);
    expect(await metric('store_outages_total')).toBe(0);
  });

  it('decides a batch of many keys over one stream', async () => {
    await using limiter = await startLimiter(redis.url, { env });
    async function* batch() {
      const limits = { requestsPerMinute: 1 };
      yield { checks: Array.from({ length: 200 }, () => ({ key: freshKey(), requestId: 'a', limits })) };
    }
    const [answer] = await Array.fromAsync(limiter.client.admitStream(batch(), deadline));
    expect(answer?.decisions.every(({ refusal }) => refusal === undefined)).toBe(true);
  });

  it('counts each request once while nodes forget their scripts and slots move to others', async () => {
    await using limiter = await startLimiter(redis.url, { env });
    const keys = Array.from({ length: 12 }, freshKey);
    const [moving = ''] = keys;
    await admitMany(limiter, moving, 5, 40);
    const asking = Promise.all(
      Array.from({ length: 30 }, async (_, n) => {
        await sleep(n * 20);
        return Promise.all(keys.map((key) => admitMany(limiter, key, 2, 40)));
      }),
    );
    const source = await redis.masterOf(moving);
    const target = redis.servers.slice(0, 3).find((server) => server !== source) ?? expect.fail('there are three');
    await moveSlot(redis, moving, source, target);
    for (const server of redis.servers.slice(0, 3)) await redis.ask(server, 'SCRIPT', 'FLUSH');
    const decisions = (await asking).flat().map((each) => each.filter(({ isAdmitted }) => isAdmitted).length);
    for (const [n, key] of keys.entries()) {
      const admitted = decisions.filter((_, index) => index % keys.length === n).reduce((sum, count) => sum + count, 0);
      expect(admitted).toBe(key === moving ? 35 : 40);
      expect(await driver.zcard(`rl:{${key}}:m`)).toBe(40);
    }
    expect(await redis.masterOf(moving)).toBe(target);
    expect(await limiter.metric('store_outages_total')).toBe(0);
  });

  it('loses nothing, and is not away, when a replica takes over from its master as planned', async () => {
    await using limiter = await startLimiter(redis.url, { env });
    const key = freshKey();
    const before = await admitMany(limiter, key, 30, 50);
    const master = await redis.masterOf(key);
    await expect.poll(() => planFailover(redis, master)).toContain('OK');
    await expect.poll(async () => (await redis.masterOf(key)) === master).toBe(false);
    const after = await admitMany(limiter, key, 30, 50);
    expect([...before, ...after].filter(({ isAdmitted }) => isAdmitted)).toHaveLength(50);
    expect(await driver.zcard(`rl:{${key}}:m`)).toBe(50);
  });
});

/**
 * Follows redis-cli: the target learns first, keys move one by one, then both learn the new owner.
 */
async function moveSlot(redis: RedisGroup, key: string, source: TestServer, target: TestServer): Promise<void> {
  const slot = (await redis.ask(source, 'CLUSTER', 'KEYSLOT', key)).trim();
  const idOf = async (server: TestServer) => (await redis.ask(server, 'CLUSTER', 'MYID')).trim();
  const [sourceId, targetId] = [await idOf(source), await idOf(target)];
  await redis.ask(target, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId);
  await redis.ask(source, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', targetId);
  const names = (await redis.ask(source, 'CLUSTER', 'GETKEYSINSLOT', slot, '100')).trim().split('\n');
  await redis.ask(source, 'MIGRATE', '127.0.0.1', String(target.port), '', '0', '5000', 'KEYS', ...names);
  for (const server of [target, source]) await redis.ask(server, 'CLUSTER', 'SETSLOT', slot, 'NODE', targetId);
}

async function planFailover(redis: RedisGroup, master: TestServer): Promise<string> {
  const roles = redis.servers.map(async (server) => ({ server, text: await redis.ask(server, 'INFO', 'replication') }));
  const replica = (await Promise.all(roles)).find(({ text }) => text.includes(`master_port:${master.port}`));
  return replica === undefined ? 'no replica' : redis.ask(replica.server, 'CLUSTER', 'FAILOVER');
}
