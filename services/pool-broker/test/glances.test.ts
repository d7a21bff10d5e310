import { randomUUID } from 'node:crypto';
import { testBackends } from '@gateway/testkit';
import { ManualClock } from '@gateway/time';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type AccountHealth, healthy } from '../src/health/account-health.ts';
import type { PoolHealth } from '../src/health/pool-health.ts';
import { FallbackPoolStore } from '../src/store/fallback-pool-store.ts';
import type { PoolStore } from '../src/store/pool-store.ts';
import { RedisPoolStore } from '../src/store/redis-pool-store.ts';

const leaseTtlMs = 600_000;
const callerMemoryMs = 60_000;
const accountIds = ['p/a', 'p/b'];
const caller = 'c'.repeat(22);
const lease = { pool: 'p', model: 'm', caller, accountId: 'p/a', maxConcurrency: 3, leaseTtlMs };

let clock: ManualClock;
/** Two stores of one Redis. */
let one: PoolStore;
let other: PoolStore;

beforeEach(async () => {
  clock = new ManualClock(Date.now());
  const keyPrefix = `test-${randomUUID()}:`;
  const { redisUrl } = await testBackends();
  const open = async () => {
    const redis = await RedisPoolStore.open({ url: redisUrl, commandTimeoutMs: 5_000, clock, keyPrefix });
    onTestFinished(() => redis[Symbol.asyncDispose]());
    return new FallbackPoolStore(redis, clock, (thrown) => expect.fail(String(thrown)));
  };
  [one, other] = [await open(), await open()];
});

const glanceAt = (store: PoolStore, affinityId?: string) => store.glanceAt({ pool: 'p', accountIds, affinityId });
const look = async (store: PoolStore) => {
  await Promise.all([store.readAccounts(accountIds, leaseTtlMs), store.readPool('p')]);
};
const seenBy = async (store: PoolStore, affinityId?: string) => {
  await look(store);
  return glanceAt(store, affinityId) ?? expect.fail('it was not seen');
};
const inFlight = async () => (await other.readAccounts(accountIds, leaseTtlMs)).map((account) => account.inFlight);

const cooled = (health: AccountHealth): AccountHealth => ({
  ...health,
  cooldowns: [
    {
      model: '',
      reason: 'rate_limited',
      sinceMs: clock.nowMs(),
      untilMs: clock.nowMs() + 60_000,
      givenByProvider: true,
      strikes: 0,
    },
  ],
});

const troubled = (): PoolHealth => ({
  troubles: [
    {
      cause: 'overloaded',
      model: 'm',
      sinceMs: clock.nowMs(),
      failures: [{ accountId: 'p/b', atMs: clock.nowMs() }],
    },
  ],
});

describe('a glance at a pool', () => {
  it('tells what was asked within the last moments, and nothing of what was not', async () => {
    expect(glanceAt(one)).toBeUndefined();
    await other.changeHealth('p/b', cooled);
    const glance = await seenBy(one);
    expect(glance.accounts).toMatchObject([{ health: healthy, inFlight: 0 }, { health: cooled(healthy) }]);
    expect(one.glanceAt({ pool: 'q', accountIds: [], affinityId: undefined })).toBeUndefined();
    expect(one.glanceAt({ pool: 'p', accountIds: ['p/c'], affinityId: undefined })).toBeUndefined();
    clock.advanceMs(101);
    expect(glanceAt(one)).toBeUndefined();
  });

  it('leads to a lease as any other, which counts its caller', async () => {
    const glance = await seenBy(one);
    const leaseId = (await glance.take(lease, callerMemoryMs)) ?? expect.fail('there is a place');
    expect(await inFlight()).toEqual([1, 0]);
    const question = { pool: 'p', caller, leaseTtlMs, callerMemoryMs };
    expect(await other.shareOf({ ...question, caller: 'd'.repeat(22) })).toEqual({ inFlight: 0, callers: 2 });
    expect(await other.shareOf(question)).toEqual({ inFlight: 1, callers: 2 });
    expect(await other.settleLease('p/a', { ...lease, leaseId })).toMatchObject({ leasedAtMs: clock.nowMs() });
    expect((await one.settleLease('p/a', { ...lease, leaseId })).kind).toBe('settled_before');
    expect(await inFlight()).toEqual([0, 0]);
  });

  it('shows those who choose next what was taken and what ended, before Redis has answered', async () => {
    const glance = await seenBy(one);
    const taking = [glance.take(lease, callerMemoryMs), glance.take(lease, callerMemoryMs)];
    expect(glanceAt(one)?.accounts.map((account) => account.inFlight)).toEqual([2, 0]);
    const [leaseId] = await Promise.all(taking);
    await seenBy(one);
    const settling = one.settleLease('p/a', { ...lease, leaseId: leaseId ?? expect.fail('there is a place') });
    await Promise.resolve();
    expect(glanceAt(one)?.accounts.map((account) => account.inFlight)).toEqual([1, 0]);
    await settling;
  });

  it.each<[string, (store: PoolStore) => unknown]>([
    ['the health of its account', (store) => store.changeHealth('p/a', cooled)],
    ['the health of its pool', (store) => store.changePoolHealth('p', troubled)],
    ['the binding of its session', (store) => store.bind('s', 'p/b', 60_000)],
  ])('leads to no lease once another broker has changed %s', async (_what, change) => {
    const glance = await seenBy(one, 's');
    await change(other);
    expect(await glance.take(lease, callerMemoryMs)).toBeUndefined();
    expect(await inFlight()).toEqual([0, 0]);
    // What is seen anew is right again.
    await one.boundAccount('s');
    expect(await (await seenBy(one, 's')).take(lease, callerMemoryMs)).toBeDefined();
  });

  it('stays what it was when its store sees something else', async () => {
    const glance = await seenBy(one);
    await one.changeHealth('p/a', cooled);
    const cooling = await seenBy(one);
    expect(await glance.take(lease, callerMemoryMs)).toBeUndefined();
    expect(await cooling.take(lease, callerMemoryMs)).toBeDefined();
  });

  it('is no matter of other accounts than the one that was chosen', async () => {
    const glance = await seenBy(one);
    await other.changeHealth('p/b', cooled);
    expect(await glance.take(lease, callerMemoryMs)).toBeDefined();
  });

  it('never leads beyond the cap, however many choose by it together', async () => {
    const [mine, theirs] = [await seenBy(one), await seenBy(other)];
    const takes = Array.from({ length: 5 }, () => [
      mine.take(lease, callerMemoryMs),
      theirs.take(lease, callerMemoryMs),
    ]);
    const taken = await Promise.all(takes.flat());
    expect(taken.filter((leaseId) => leaseId !== undefined)).toHaveLength(3);
    expect(await inFlight()).toEqual([3, 0]);
  });

  it('keeps a session where it is bound, until that ends', async () => {
    await other.bind('s', 'p/b', 60_000);
    expect(await one.boundAccount('s')).toBe('p/b');
    const glance = await seenBy(one, 's');
    expect(glance.boundAccountId).toBe('p/b');
    expect(await glance.take({ ...lease, accountId: 'p/b' }, callerMemoryMs)).toBeDefined();
    await other.unbind('s', 'p/b');
    expect(await glance.take({ ...lease, accountId: 'p/b' }, callerMemoryMs)).toBeUndefined();
    expect((await seenBy(one, 'new')).boundAccountId).toBeUndefined();
  });

  it.each<[string, (store: PoolStore) => unknown]>([
    ['an account', (store) => store.changeHealth('p/b', cooled)],
    ['the pool', (store) => store.changePoolHealth('p', troubled)],
  ])('is no longer young once its broker has changed the health of %s', async (_what, change) => {
    await seenBy(one);
    await change(one);
    expect(glanceAt(one)?.isFading).toBe(true);
  });

  it('brings the next one with it when it is no longer young, as long as leases are taken by glances', async () => {
    const glance = await seenBy(one);
    const cooling = cooled(healthy);
    await other.changeHealth('p/b', () => cooling);
    expect(glance.isFading).toBe(false);
    await glance.take(lease, callerMemoryMs);
    // Redis answers in order: what was asked with the lease would be known by now.
    await other.readPool('p');
    expect(glanceAt(one)?.accounts[1]?.health).toEqual(healthy);
    clock.advanceMs(51);
    const fading = glanceAt(one) ?? expect.fail('it was not seen');
    expect(fading.isFading).toBe(true);
    await fading.take(lease, callerMemoryMs);
    await expect.poll(() => glanceAt(one)?.accounts[1]?.health).toEqual(cooling);
  });
});
