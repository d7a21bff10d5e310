import { ManualTime } from '@gateway/time/simulated';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryPoolStore } from './memory-pool-store.ts';
import { maxCallers, type NewLease, readApart } from './pool-store.ts';

const leaseTtlMs = 100;
const callerMemoryMs = 60;
const accountIds = ['p/a', 'p/b', 'q/a'] as const;
const models = ['m', 'n'] as const;
const callers = ['', 'c'.repeat(22), 'd'.repeat(22)] as const;
const pools = ['p', 'q'] as const;

interface ModelLease extends NewLease {
  takenAtMs: number;
  state: 'in flight' | 'expired' | 'settled';
}

/** The simplest possible model of a store: a list of all leases that ever existed. */
class ModelStore {
  readonly leases: ModelLease[] = [];
  readonly askedAtMs = new Map<string, number>();

  underWay(nowMs: number): readonly ModelLease[] {
    for (const lease of this.leases) {
      if (lease.state === 'in flight' && lease.takenAtMs <= nowMs - leaseTtlMs) lease.state = 'expired';
    }
    return this.leases.filter(({ state }) => state === 'in flight');
  }

  /** The lease that is settled now; undefined when it was settled before. */
  settle(id: string, nowMs: number): { leasedAtMs: number | undefined } | undefined {
    const underWay = this.underWay(nowMs);
    const lease = this.leases.find((each) => each.leaseId === id) ?? expect.fail('it was not taken');
    if (lease.state === 'settled') return undefined;
    lease.state = 'settled';
    return { leasedAtMs: underWay.includes(lease) ? lease.takenAtMs : undefined };
  }
}

type Step =
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'take'; readonly account: number; readonly model: number; readonly caller: number; cap: number }
  | { readonly kind: 'settle'; readonly which: number }
  | { readonly kind: 'share'; readonly pool: number; readonly caller: number }
  | { readonly kind: 'oldest'; readonly pool: number; readonly model: number; readonly agoMs: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 40 }) }),
  fc.record({
    kind: fc.constant('take' as const),
    account: fc.nat(2),
    model: fc.nat(1),
    caller: fc.nat(2),
    cap: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({ kind: fc.constant('settle' as const), which: fc.nat(20) }),
  fc.record({ kind: fc.constant('share' as const), pool: fc.nat(1), caller: fc.integer({ min: 1, max: 2 }) }),
  fc.record({
    kind: fc.constant('oldest' as const),
    pool: fc.nat(1),
    model: fc.nat(2),
    agoMs: fc.nat(leaseTtlMs - 1),
  }),
);

function at<T>(items: readonly T[], index: number): T {
  return items[index] ?? expect.fail('there is none');
}

describe('the leases of a single process', () => {
  it('are counted, settled once and forgotten as if all that ever were had been kept', async () => {
    const check = async (steps: readonly Step[]) => {
      using time = new ManualTime(1_000);
      const store = new MemoryPoolStore();
      const model = new ModelStore();
      for (const each of steps) {
        const nowMs = time.nowMs;
        if (each.kind === 'wait') {
          time.advanceMs(each.ms);
        } else if (each.kind === 'take') {
          const accountId = at(accountIds, each.account);
          const wanted: NewLease = {
            ...{ accountId, pool: at(accountId.split('/'), 0), model: at(models, each.model) },
            ...{ caller: at(callers, each.caller), maxConcurrency: each.cap, leaseTtlMs },
            leaseId: `lease ${model.leases.length}`,
          };
          const inFlight = model.underWay(nowMs).filter((lease) => lease.accountId === accountId).length;
          const isTaken = await store.takeLease(wanted);
          expect(isTaken).toBe(inFlight < each.cap);
          if (isTaken) model.leases.push({ ...wanted, takenAtMs: nowMs, state: 'in flight' });
        } else if (each.kind === 'settle') {
          const lease = model.leases.at(each.which % Math.max(1, model.leases.length));
          if (lease === undefined) continue;
          const expected = model.settle(lease.leaseId, nowMs);
          // Expired leases are noticed when a call reads what is in flight.
          await store.readAccounts(accountIds, leaseTtlMs);
          const settlement = await store.settleLease(lease.accountId, lease);
          if (expected === undefined) expect(settlement).toBeUndefined();
          else expect(settlement).toMatchObject(expected);
        } else if (each.kind === 'share') {
          const pool = at(pools, each.pool);
          const caller = at(callers, each.caller);
          model.askedAtMs.set(`${pool} ${caller}`, nowMs);
          const asking = [...model.askedAtMs].filter(
            ([key, askedAtMs]) => key.startsWith(pool) && askedAtMs > nowMs - callerMemoryMs,
          );
          const own = model.underWay(nowMs).filter((lease) => lease.pool === pool && lease.caller === caller);
          expect(await store.shareOf({ pool, caller, leaseTtlMs, callerMemoryMs })).toEqual({
            inFlight: own.length,
            callers: asking.length,
          });
        } else {
          const pool = at(pools, each.pool);
          const asked = ['', ...models][each.model] ?? '';
          const sinceMs = nowMs - each.agoMs;
          const times = model
            .underWay(nowMs)
            .filter((lease) => lease.pool === pool && (asked === '' || lease.model === asked))
            .map(({ takenAtMs }) => takenAtMs)
            .filter((timeMs) => timeMs >= sinceMs);
          const oldest = times.length === 0 ? undefined : Math.min(...times);
          expect(await store.oldestRequest({ pool, model: asked, sinceMs })).toBe(oldest);
        }
        const underWay = model.underWay(time.nowMs);
        const records = await store.readAccounts(accountIds, leaseTtlMs);
        expect(records.map(({ inFlight }) => inFlight)).toEqual(
          accountIds.map((accountId) => underWay.filter((lease) => lease.accountId === accountId).length),
        );
      }
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), check), {
      numRuns: 300,
    });
  });

  const wanted = { pool: 'p', model: 'm', caller: '', accountId: 'p/a', maxConcurrency: 1, leaseTtlMs };
  const settle = async (store: MemoryPoolStore, leaseId: string) =>
    (await store.settleLease('p/a', { ...wanted, leaseId })) === undefined ? 'settled before' : 'settled';

  it('are known to have been settled long after, whatever came after them', async () => {
    using time = new ManualTime(0);
    const store = new MemoryPoolStore();
    for (let n = 0; n < 100; n++) {
      expect(await store.takeLease({ ...wanted, leaseId: `lease ${n}` })).toBe(true);
      expect(await settle(store, `lease ${n}`)).toBe('settled');
    }
    time.advanceMs(86_400_000);
    expect(await settle(store, 'lease 0')).toBe('settled before');
    expect(await settle(store, 'lease 100')).toBe('settled');
  });

  it('end as soon as another replica knows that they have ended: the oldest of that account alone', async () => {
    const store = new MemoryPoolStore();
    const take = (accountId: string, leaseId: string) =>
      store.takeLease({ ...wanted, accountId, leaseId, maxConcurrency: 9 });
    for (const leaseId of ['a1', 'a2', 'a3']) {
      await take('p/b', leaseId.replace('a', 'b'));
      await take('p/a', leaseId);
    }
    const left = () => ['a1', 'a2', 'a3', 'b1', 'b2', 'b3'].filter((leaseId) => store.hasLease(leaseId));
    for (const most of [4, 3]) store.limitLeases('p/a', most);
    expect(left()).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'b3']);
    store.limitLeases('p/a', 1);
    expect(left()).toEqual(['a3', 'b1', 'b2', 'b3']);
    expect((await store.readAccounts(['p/a', 'p/b'], leaseTtlMs)).map(({ inFlight }) => inFlight)).toEqual([1, 3]);
    store.limitLeases('p/c', 0);
    expect(left()).toEqual(['a3', 'b1', 'b2', 'b3']);
  });

  it('may be settled though another process gave them', async () => {
    const [one, other] = [new MemoryPoolStore(), new MemoryPoolStore()];
    await one.takeLease({ ...wanted, leaseId: 'mine' });
    await other.takeLease({ ...wanted, leaseId: 'theirs' });
    expect(await settle(other, 'mine')).toBe('settled');
    expect(await settle(other, 'mine')).toBe('settled before');
    expect((await other.readAccounts(['p/a'], leaseTtlMs))[0]?.inFlight).toBe(1);
    expect(await settle(one, 'mine')).toBe('settled');
  });
});

describe('the store of a single process', () => {
  const shares = { leaseTtlMs, callerMemoryMs };

  it('shows a pool as its parts do, with and without a session and a caller', async () => {
    using time = new ManualTime(1_000);
    const store = new MemoryPoolStore();
    const lease = { pool: 'p', model: 'm', caller: 'c', leaseTtlMs, maxConcurrency: 9 };
    for (const [n, accountId] of ['p/a', 'p/a', 'p/b'].entries()) {
      await store.takeLease({ ...lease, accountId, leaseId: `lease ${n}` });
    }
    await store.bind('session', 'p/b', 1_000);
    await store.bind('', 'p/a', 1_000);
    for (const affinityId of ['', 'session', 'other']) {
      for (const caller of ['', 'c', 'd']) {
        const question = { ...shares, accountIds: ['p/a', 'p/b', 'p/c'], pool: 'p', affinityId, caller };
        const view = await store.readPoolView(question);
        expect(view).toEqual(await readApart(store, question));
        expect(view.accounts.map(({ inFlight }) => inFlight)).toEqual([2, 1, 0]);
        expect(view.boundAccountId).toBe(affinityId === 'session' ? 'p/b' : undefined);
        expect(view.callerShare?.inFlight).toBe({ '': undefined, c: 3, d: 0 }[caller]);
      }
    }
    time.advanceMs(leaseTtlMs);
    const question = { ...shares, accountIds: ['p/a'], pool: 'p', affinityId: '', caller: 'c' };
    expect(await store.readPoolView(question)).toMatchObject({
      ...{ accounts: [{ inFlight: 0 }], callerShare: { inFlight: 0 } },
    });
  });

  it('counts a caller until it has not asked for as long as callers are remembered', async () => {
    using time = new ManualTime(0);
    const store = new MemoryPoolStore();
    const callersSeenBy = async (caller: string) => (await store.shareOf({ ...shares, pool: 'p', caller })).callers;
    expect(await callersSeenBy('c')).toBe(1);
    time.advanceMs(callerMemoryMs - 1);
    expect(await callersSeenBy('d')).toBe(2);
    time.advanceMs(1);
    expect(await callersSeenBy('d')).toBe(1);
  });

  it('counts no more than ten thousand callers, and forgets those that asked first', async () => {
    using _ = new ManualTime(1_000);
    const store = new MemoryPoolStore();
    const ask = (caller: number) => store.shareOf({ ...shares, pool: 'p', caller: `caller ${caller}` });
    for (let n = 1; n < maxCallers; n++) await ask(n);
    expect((await ask(maxCallers)).callers).toBe(maxCallers);
    expect((await ask(maxCallers + 1)).callers).toBe(maxCallers);
    expect((await ask(2)).callers).toBe(maxCallers);
  });

  it('keeps a binding for its time to live, and no longer', async () => {
    using time = new ManualTime(1_000);
    const store = new MemoryPoolStore();
    await store.bind('session', 'p/a', 1_000);
    await store.bind('session', 'p/b', 9_000);
    await store.unbind('session', 'p/b');
    time.advanceMs(999);
    expect(await store.boundAccount('session')).toBe('p/a');
    time.advanceMs(1);
    expect(await store.boundAccount('session')).toBeUndefined();
    await store.bind('session', 'p/b', 1_000);
    await store.unbind('session', 'p/b');
    expect(await store.boundAccount('session')).toBeUndefined();
  });

  it('says whether a change of health changed anything', async () => {
    const store = new MemoryPoolStore();
    expect(await store.changeHealth('p/a', (health) => ({ ...health }))).toBe(true);
    expect(await store.changeHealth('p/a', (health) => health)).toBe(false);
    expect(await store.changeHealth('p/a', () => undefined)).toBe(false);
    expect(await store.changePoolHealth('p', (health) => ({ ...health }))).toBe(true);
    expect(await store.changePoolHealth('p', (health) => health)).toBe(false);
  });

  it('renews a lease for its time to live, and lets one of two accounts go without the other', async () => {
    using time = new ManualTime(0);
    const store = new MemoryPoolStore();
    const lease = (leaseId: string) => ({
      ...{ leaseId, pool: 'p', model: 'm', caller: 'c', leaseTtlMs },
      accountId: 'p/a',
    });
    const inFlight = async () => (await store.readAccounts(['p/a'], leaseTtlMs))[0]?.inFlight;
    for (const leaseId of ['one', 'two']) await store.takeLease({ ...lease(leaseId), maxConcurrency: 2 });
    time.advanceMs(leaseTtlMs - 1);
    await store.renewLease(lease('one'));
    expect([await inFlight(), store.hasLease('one'), store.hasLease('two')]).toEqual([2, true, true]);
    time.advanceMs(1);
    expect([await inFlight(), store.hasLease('one'), store.hasLease('two')]).toEqual([1, true, false]);
    time.advanceMs(leaseTtlMs - 2);
    expect(await inFlight()).toBe(1);
    time.advanceMs(1);
    expect([await inFlight(), store.hasLease('one')]).toEqual([0, false]);
  });

  it('gives the place of a lease that expired to the next request', async () => {
    using time = new ManualTime(1_000);
    const store = new MemoryPoolStore();
    const lease = { pool: 'p', model: 'm', caller: 'c', leaseTtlMs, accountId: 'p/a', maxConcurrency: 1 };
    expect(await store.takeLease({ ...lease, leaseId: 'one' })).toBe(true);
    time.advanceMs(leaseTtlMs - 1);
    expect(await store.takeLease({ ...lease, leaseId: 'two' })).toBe(false);
    time.advanceMs(1);
    expect(await store.takeLease({ ...lease, leaseId: 'two' })).toBe(true);
  });

  it('takes a lease that is renewed after it expired for one of unknown start, a time to live ago', async () => {
    using time = new ManualTime(1_000);
    const store = new MemoryPoolStore();
    const lease = { pool: 'p', model: 'm', caller: '', leaseTtlMs, accountId: 'p/a', leaseId: 'one' };
    await store.takeLease({ ...lease, maxConcurrency: 1 });
    time.advanceMs(leaseTtlMs + 50);
    await store.renewLease(lease);
    expect(await store.settleLease('p/a', lease)).toMatchObject({ leasedAtMs: 1_050 });
  });

  it('limits no caller that is not named', async () => {
    const store = new MemoryPoolStore();
    const lease = { pool: 'p', model: 'm', leaseTtlMs, accountId: 'p/a', maxConcurrency: 9, maxPerCaller: 1 };
    const take = (caller: string, leaseId: string) => store.takeLease({ ...lease, caller, leaseId });
    expect([await take('', 'one'), await take('', 'two')]).toEqual([true, true]);
    expect([await take('c', 'three'), await take('c', 'four')]).toEqual([true, false]);
  });
});
