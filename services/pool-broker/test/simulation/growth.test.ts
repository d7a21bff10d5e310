import { AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gatewayWith, sampleAccount } from '../../src/__fixtures__/sample-gateway.ts';
import { createPoolBrokerService } from '../../src/service.ts';
import { MemoryPoolStore } from '../../src/store/memory-pool-store.ts';
import { randomNumbers } from './__fixtures__/random-numbers.ts';

/** Counts the accounts that are read. */
class CountingStore extends MemoryPoolStore {
  looks = 0;

  override readAccounts(accountIds: readonly string[], leaseTtlMs: number) {
    this.looks += accountIds.length;
    return super.readAccounts(accountIds, leaseTtlMs);
  }
}

type Options = NonNullable<Parameters<typeof sampleAccount>[2]>;

function poolOf(count: number, optionsOf: (n: number) => Options = () => ({})) {
  const time = new ManualTime(Date.parse('2026-11-20T12:00:00Z'));
  onTestFinished(() => time[Symbol.dispose]());
  const store = new CountingStore();
  const names = Array.from({ length: count }, (_, n) => `a${n}`);
  const gateway = gatewayWith(names.map((name, n) => sampleAccount('responses', name, optionsOf(n))));
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const parts = { store, random: randomNumbers(7) };
  const pools = directClient(createPoolBrokerService({ gateway }, runtime, parts).routes[0]);
  const acquire = async (options: { affinityKey?: string; caller?: string } = {}) => {
    const { result } = await pools.acquire({ model: 'gateway/sterk', ...options });
    return result;
  };
  const leased = async (options = {}) => {
    const result = await acquire(options);
    return result.case === 'lease' ? result.value : expect.fail(`no lease but ${result.case}`);
  };
  const end = (lease: Lease, result: AttemptResult, untilMs?: number) => {
    const retryAfterMs = untilMs === undefined ? undefined : untilMs - time.nowMs;
    return pools.report({ attempt: { lease, report: { result, retryAfterMs } } });
  };
  /**
   * How many accounts each request reads, for this many requests, one after the other at 200 a
   * second.
   */
  const looksPerRequest = async (requests: number, optionsOfRequest: (n: number) => object = () => ({})) => {
    const before = store.looks;
    for (let n = 0; n < requests; n++) {
      time.advanceMs(5);
      await end(await leased(optionsOfRequest(n)), AttemptResult.SUCCEEDED);
    }
    return (store.looks - before) / requests;
  };
  /** Limits all accounts except the last ones for an hour. */
  const limitAllBut = async (last: number) => {
    const lease = await leased();
    for (const [n, name] of names.slice(0, count - last).entries()) {
      const fields = { leaseId: `gone ${n}`, accountId: `responses/${name}` };
      await end({ ...lease, ...fields }, AttemptResult.RATE_LIMITED, time.nowMs + 3_600_000);
    }
    await end(lease, AttemptResult.SUCCEEDED);
  };
  return { time, store, names, acquire, leased, end, looksPerRequest, limitAllBut };
}

describe('a pool of a thousand accounts', () => {
  it.each([
    ['no session', () => ({})],
    ['new sessions', (n: number) => ({ affinityKey: `session ${n}` })],
    ['old sessions', (n: number) => ({ affinityKey: `session ${n % 10}` })],
    ['callers', (n: number) => ({ caller: `caller ${n % 3}` })],
  ])('costs a request of %s a look at no more accounts than a pool of eight', async (_name, optionsOf) => {
    expect(await poolOf(8).looksPerRequest(200, optionsOf)).toBeLessThanOrEqual(9);
    expect(await poolOf(1_000).looksPerRequest(200, optionsOf)).toBeLessThanOrEqual(9);
  });

  it.each([200, 10])('costs little more while all but %i are limited', async (usable) => {
    const pool = poolOf(1_000);
    await pool.limitAllBut(usable);
    await pool.looksPerRequest(400);
    // Each limited account is examined once a second, which is once in two hundred requests.
    expect(await pool.looksPerRequest(1_000)).toBeLessThan(9 + 1_000 / 200);
    pool.time.advanceMs(3_600_000);
    await pool.looksPerRequest(400);
    expect(await pool.looksPerRequest(200)).toBeLessThanOrEqual(9);
  });

  it('serves by the last account that can, and says truly when it cannot', async () => {
    const pool = poolOf(1_000, () => ({ maxConcurrency: 1 }));
    await pool.limitAllBut(1);
    const lease = await pool.leased();
    expect(lease.accountId).toBe('responses/a999');
    // The account is only busy: a place may be free at any time.
    const busy = await pool.acquire();
    expect(busy.case === 'exhausted' && busy.value.retryAtMs).toBeUndefined();
    const untilMs = pool.time.nowMs + 60_000;
    await pool.end(lease, AttemptResult.RATE_LIMITED, untilMs);
    expect(await pool.acquire()).toMatchObject({ case: 'exhausted', value: { retryAtMs: untilMs } });
    pool.time.setMs(untilMs);
    expect((await pool.leased()).accountId).toBe('responses/a999');
  });

  it('gives every place, and none twice, to requests that come together', async () => {
    const { acquire } = poolOf(100, () => ({ maxConcurrency: 2 }));
    const results = await Promise.all(Array.from({ length: 230 }, () => acquire()));
    const leases = results.flatMap((result) => (result.case === 'lease' ? [result.value.accountId] : []));
    expect(leases).toHaveLength(200);
    expect(new Set(leases).size).toBe(100);
  });

  it('spreads requests by weight, and evenly over accounts that are alike', async () => {
    // Twenty accounts have as many places as the other 980 together.
    const { leased } = poolOf(1_000, (n) => ({ maxConcurrency: n < 20 ? 98 : 2 }));
    const leases = await Promise.all(Array.from({ length: 1_000 }, () => leased()));
    const ofLarge = leases.filter(({ accountId }) => Number(accountId.slice('responses/a'.length)) < 20);
    expect(ofLarge.length).toBeGreaterThan(400);
    expect(ofLarge.length).toBeLessThan(600);
    const even = poolOf(1_000);
    const counts = new Map<string, number>();
    for (let n = 0; n < 3_000; n++) {
      const { accountId } = await even.leased();
      counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
    }
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(5);
  });

  it('gives the requests of a session that come together one account', async () => {
    const { leased } = poolOf(1_000);
    for (const affinityKey of ['a', 'b', 'c']) {
      const leases = await Promise.all([leased({ affinityKey }), leased({ affinityKey }), leased({ affinityKey })]);
      expect(new Set(leases.map(({ accountId }) => accountId)).size).toBe(1);
    }
  });
});
