import { randomUUID } from 'node:crypto';
import { startRedis } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { deadline, startLimiter, today } from './limiter-under-test.ts';
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
  it('gives no slot away twice when it is too quick to be noticed', async () => {
    await using stack = new AsyncDisposableStack();
    const { replica, link, address, toReplica } = await startPair(stack);
    await using limiter = await startLimiter(address.url);
    const key = `token:${randomUUID()}`;
    const admit = () => limiter.client.admit({ key, requestId: randomUUID(), limits }, deadline);
    link.cut(true);
    for (let n = 0; n < 20; n++) expect((await admit()).refusal).toBeUndefined();
    expect(await toReplica.zcard(`rl:{${key}}:m`)).toBe(0);
    await toReplica.replicaof('NO', 'ONE');
    address.switchTo(replica.url);
    await expect.poll(() => toReplica.zcard(`rl:{${key}}:m`), recovery).toBe(20);
    expect((await admit()).status).toMatchObject({ degraded: false, requests: { remaining: 39 } });
    expect(await limiter.metric('store_outages_total')).toBe(0);
  });

  it('takes no window back in time, gives no slot away twice, and the day total is the ledger’s again', async () => {
    await using stack = new AsyncDisposableStack();
    const { primary, replica, link, address, toReplica } = await startPair(stack);
    const ledger = new UsageLedger();
    const env = { LIMITER_RECONCILE_SECONDS: '1' };
    await using limiter = await startLimiter(address.url, { env, usageQuery: ledger.usageQuery });
    const { client, metric } = limiter;
    const key = `token:${randomUUID()}`;
    const admitted: string[] = [];
    let emptyAtMs = 0;
    /**
     * Makes one request. Fails when the limiter fails, hangs, or returns an older window than
     * before.
     */
    const request = async (tokens: number) => {
      const requestId = randomUUID();
      const { status, refusal } = await client.admit({ key, requestId, limits }, deadline);
      if (status?.requests?.emptyAtMs === undefined) throw new Error('a window was asked for');
      const nowEmptyAtMs = status.requests.emptyAtMs;
      expect(nowEmptyAtMs).toBeGreaterThanOrEqual(emptyAtMs);
      emptyAtMs = nowEmptyAtMs;
      if (refusal !== undefined) return status;
      admitted.push(requestId);
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
    for (let n = 0; n < 5; n++) expect(await request(1_000)).toMatchObject({ degraded: true });
    await toReplica.replicaof('NO', 'ONE');
    address.switchTo(replica.url);
    await expect.poll(async () => (await request(0))?.degraded, recovery).toBe(false);
    // Settles of requests that were answered during the hand-over follow immediately after.
    await expect.poll(() => metric('pending_settles'), recovery).toBe(0);

    expect(await toReplica.zrange(`rl:{${key}}:m`, '0', '-1')).toHaveLength(admitted.length);
    while (admitted.length < 60) await request(10_000);
    expect((await request(1))?.requests?.remaining).toBe(0);
    expect(admitted).toHaveLength(60);
    await expect
      .poll(async () => 1_000_000 - Number((await request(0))?.tokens?.remaining), { interval: 50 })
      .toBe(ledger.total);
    expect(await metric('store_outages_total')).toBe(1);
    expect(await metric('store_away')).toBe(0);
    expect(await metric('pending_settles')).toBe(0);
  });
});
