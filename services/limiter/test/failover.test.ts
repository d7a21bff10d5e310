import { randomUUID } from 'node:crypto';
import { startRedis } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { deadline, redisIsAway, startLimiter, today } from './limiter-under-test.ts';
import { redisProxy } from './redis-proxy.ts';
import { UsageLedger } from './usage-ledger.ts';

const recovery = { timeout: roomMs(2_000), interval: 20 };
const limits = { requestsPerMinute: 60, tokensPerDay: 1_000_000 };

async function startPair(stack: AsyncDisposableStack) {
  const [primary, replica] = await Promise.all([startRedis(), startRedis()]);
  stack.use(primary);
  stack.use(replica);
  const link = stack.use(await redisProxy(primary.url));
  const address = stack.use(await redisProxy(primary.url));
  const toReplica = stack.adopt(new Redis(replica.url), (driver) => driver.disconnect());
  await toReplica.replicaof('127.0.0.1', link.port);
  await expect.poll(() => toReplica.info('replication'), { interval: 50 }).toContain('master_link_status:up');
  return { primary, replica, link, address, toReplica };
}

describe('a failover to a Redis that had not heard of the latest', () => {
  it('is told to replicas, also when it is too quick to be noticed, and they give the slots back', async () => {
    await using stack = new AsyncDisposableStack();
    const { replica, link, address, toReplica } = await startPair(stack);
    await using limiter = await startLimiter(address.url);
    const key = `token:${randomUUID()}`;
    const ids = Array.from({ length: 20 }, () => randomUUID());
    const { answeredAtMs: lastAnsweredAtMs } = await limiter.client.heartbeat(
      { group: 'edge', replicaId: 'e' },
      deadline,
    );
    await expect.poll(() => toReplica.zcard('rl:replicas:edge')).toBe(1);
    link.cut(true);
    for (const requestId of ids) await limiter.client.admit({ key, requestId, limits }, deadline);
    expect(await toReplica.zcard(`rl:{${key}}:m`)).toBe(0);
    await toReplica.replicaof('NO', 'ONE');
    address.switchTo(replica.url);
    const beat = () => limiter.client.heartbeat({ group: 'edge', replicaId: 'e', lastAnsweredAtMs }, deadline);
    await expect.poll(async () => (await beat()).new, recovery).toBe(true);
    const admissions = ids.map((requestId) => ({ key, requestId, ageMs: 1_000 }));
    await limiter.client.heartbeat({ group: 'edge:returning', replicaId: 'e', admissions }, deadline);
    const { status } = await limiter.client.admit({ key, requestId: 'next', limits }, deadline);
    expect(status?.requests?.remaining).toBe(39);
    expect(await limiter.metric('store_outages_total')).toBe(0);
  });

  it('takes no window back in time, and the day total is the ledger’s again', async () => {
    await using stack = new AsyncDisposableStack();
    const { primary, replica, link, address, toReplica } = await startPair(stack);
    const ledger = new UsageLedger();
    const env = { LIMITER_RECONCILE_SECONDS: '1' };
    await using limiter = await startLimiter(address.url, { env, usageQuery: ledger.usageQuery });
    const { client, metric } = limiter;
    const key = `token:${randomUUID()}`;
    let emptyAtMs = 0;
    /** Makes one request. Fails when the limiter does, or returns an older window than before. */
    const request = async (tokens: number) => {
      const requestId = randomUUID();
      const { status } = await client.admit({ key, requestId, limits }, deadline);
      const nowEmptyAtMs = status?.requests?.emptyAtMs ?? expect.fail('a window was asked for');
      expect(nowEmptyAtMs).toBeGreaterThanOrEqual(emptyAtMs);
      emptyAtMs = nowEmptyAtMs;
      await client.settle({ key, requestId, localDay: today(), tokens }, deadline);
      ledger.ingest(requestId, tokens);
      return status;
    };

    for (let n = 0; n < 10; n++) await request(10);
    // WAIT would not help: it waits for this connection's writes, and there are none.
    await expect.poll(() => toReplica.zcard(`rl:{${key}}:m`), { interval: 20 }).toBe(10);
    link.cut(true);
    for (let n = 0; n < 10; n++) await request(100);
    expect(await toReplica.zcard(`rl:{${key}}:m`)).toBe(10);

    await primary.kill();
    await expect(request(1_000)).rejects.toMatchObject(redisIsAway);
    await toReplica.replicaof('NO', 'ONE');
    address.switchTo(replica.url);
    await expect.poll(() => request(0).catch(() => undefined), recovery).toBeDefined();
    await expect
      .poll(async () => 1_000_000 - Number((await request(0))?.tokens?.remaining), { interval: 50 })
      .toBe(ledger.total);
    expect(await metric('store_outages_total')).toBe(1);
    await expect.poll(() => metric('store_away'), recovery).toBe(0);
  });
});
