import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AccountHealth, healthy } from '../health/account-health.ts';
import { availabilityOf } from '../health/eligibility.ts';
import { withFallback } from './fallback-pool-store.ts';
import { MemoryPoolStore } from './memory-pool-store.ts';
import type { PoolStore } from './pool-store.ts';

/** A shared store that can become unreachable; it counts the calls that reach it. */
class AwayableStore extends MemoryPoolStore {
  away = false;
  isTimeKnown = true;
  calls = 0;

  override async readAccounts(...args: Parameters<MemoryPoolStore['readAccounts']>) {
    this.#reach();
    return super.readAccounts(...args);
  }

  override async changeHealth(...args: Parameters<MemoryPoolStore['changeHealth']>) {
    this.#reach();
    return super.changeHealth(...args);
  }

  override async takeLease(...args: Parameters<MemoryPoolStore['takeLease']>) {
    this.#reach();
    return super.takeLease(...args);
  }

  override async renewLease(...args: Parameters<MemoryPoolStore['renewLease']>) {
    this.#reach();
    return super.renewLease(...args);
  }

  override async settleLease(...args: Parameters<MemoryPoolStore['settleLease']>) {
    this.#reach();
    return super.settleLease(...args);
  }

  override async boundAccount(...args: Parameters<MemoryPoolStore['boundAccount']>) {
    this.#reach();
    return super.boundAccount(...args);
  }

  override async bind(...args: Parameters<MemoryPoolStore['bind']>) {
    this.#reach();
    return super.bind(...args);
  }

  #reach(): void {
    this.calls += 1;
    if (this.away) throw new Error('away');
  }
}

const ttlMs = 60_000;

function storesOf() {
  const time = new ManualTime(1_000_000);
  onTestFinished(() => time[Symbol.dispose]());
  const shared = new AwayableStore();
  const faults: unknown[] = [];
  const store = withFallback(shared, (thrown) => faults.push(thrown));
  const cooled = (untilMs: number): AccountHealth => {
    const rest = {
      model: '',
      reason: AttemptResult.RATE_LIMITED,
      sinceMs: 0,
      givenByProvider: true,
      repeats: 0,
    } as const;
    return { ...healthy, cooldowns: [{ ...rest, untilMs }] };
  };
  const coolingOf = async (from: PoolStore, account: string) => {
    const [record] = await from.readAccounts([account], ttlMs);
    return availabilityOf(record?.health ?? healthy, { model: 'm' }, time.nowMs).kind;
  };
  return { time, shared, store, faults, cooled, coolingOf };
}

describe('a shared store that goes away', () => {
  it('is replaced by what was last known', async () => {
    const { time, shared, store, cooled, coolingOf } = storesOf();
    await shared.changeHealth('a', () => cooled(time.nowMs + 50_000));
    await store.bind('session', 'a', ttlMs);
    expect(await coolingOf(store, 'a')).toBe('cooling');
    shared.away = true;
    expect(await coolingOf(store, 'a')).toBe('cooling');
    expect(await coolingOf(store, 'b')).toBe('available');
    expect(await store.boundAccount('session')).toBe('a');
  });

  it('still counts leases and settles each once', async () => {
    const { shared, store } = storesOf();
    shared.away = true;
    const lease = { pool: 'p', model: 'm', caller: 'c', leaseTtlMs: ttlMs, accountId: 'a', maxConcurrency: 1 };
    expect(await store.takeLease({ ...lease, leaseId: 'one' })).toBe(true);
    expect(await store.takeLease({ ...lease, leaseId: 'two' })).toBe(false);
    expect(await store.settleLease('a', { ...lease, leaseId: 'one' })).toBeDefined();
    expect(await store.settleLease('a', { ...lease, leaseId: 'one' })).toBeUndefined();
  });

  it('does not count leases that ended at another replica', async () => {
    const { shared, store } = storesOf();
    const other = withFallback(shared, () => undefined);
    const lease = { pool: 'p', model: 'm', caller: 'c', leaseTtlMs: ttlMs, accountId: 'a', maxConcurrency: 2 };
    for (const leaseId of ['one', 'two', 'three', 'four']) {
      expect(await store.takeLease({ ...lease, leaseId })).toBe(true);
      if (leaseId !== 'four') await other.settleLease('a', { ...lease, leaseId });
    }
    await store.readAccounts(['a'], ttlMs);
    shared.away = true;
    expect((await store.readAccounts(['a'], ttlMs))[0]?.inFlight).toBe(1);
    expect(await store.takeLease({ ...lease, leaseId: 'five' })).toBe(true);
  });

  it('finds leases renewed that were taken before it went, and again once it is back', async () => {
    const { time, shared, store } = storesOf();
    const request = { pool: 'p', model: 'm', caller: 'c', leaseTtlMs: ttlMs, accountId: 'a', maxConcurrency: 1 };
    const leaseId = 'taken before';
    expect(await store.takeLease({ ...request, leaseId })).toBe(true);
    const inFlight = async (from: PoolStore) => (await from.readAccounts(['a'], ttlMs))[0]?.inFlight;
    shared.away = true;
    for (let n = 0; n < 4; n++) {
      time.advanceMs(ttlMs / 2);
      await store.renewLease({ ...request, leaseId });
      expect(await inFlight(store)).toBe(1);
      expect(await store.takeLease({ ...request, leaseId: 'another' })).toBe(false);
    }
    // Leases of other replicas count here too while the store answers; without it each replica
    // counts its own.
    await store.renewLease({ ...request, accountId: 'b', leaseId: 'of another replica' });
    expect((await store.readAccounts(['b'], ttlMs))[0]?.inFlight).toBe(1);
    shared.away = false;
    time.advanceMs(1_000);
    expect(await inFlight(shared)).toBe(0);
    await store.renewLease({ ...request, leaseId });
    expect(await inFlight(shared)).toBe(1);
    await store.settleLease('a', { ...request, leaseId });
    expect([await inFlight(store), await inFlight(shared)]).toEqual([0, 0]);
  });

  it.each([true, false])('learns later what was learnt alone, if by its own time: %s', async (isKnown) => {
    const { time, cooled, coolingOf } = storesOf();
    const shared = new AwayableStore(() => time.nowMs + (isKnown ? 0 : 600_000));
    shared.isTimeKnown = isKnown;
    const store = withFallback(shared, () => undefined);
    shared.away = true;
    await store.changeHealth('a', () => cooled(shared.nowMs() + 50_000));
    shared.away = false;
    time.advanceMs(1_000);
    await store.readAccounts(['a'], ttlMs);
    expect(await coolingOf(shared, 'a')).toBe(isKnown ? 'cooling' : 'available');
  });

  it('is not called for a second after a failure, so that only one of several calls waits', async () => {
    const { time, shared, store, faults } = storesOf();
    shared.away = true;
    for (let n = 0; n < 5; n++) await store.readAccounts(['a'], ttlMs);
    expect([shared.calls, faults.length]).toEqual([1, 1]);
    time.advanceMs(1_000);
    await store.readAccounts(['a'], ttlMs);
    expect(shared.calls).toBe(2);
  });

  it('is called again although the clock was set back', async () => {
    const { time, shared, store } = storesOf();
    shared.away = true;
    time.advanceMs(3_600_000);
    await store.readAccounts(['a'], ttlMs);
    shared.away = false;
    time.advanceMs(-3_600_000);
    await store.readAccounts(['a'], ttlMs);
    expect(shared.calls).toBe(2);
  });

  it('learns what happened meanwhile once it is back', async () => {
    const { time, shared, store, cooled, coolingOf } = storesOf();
    shared.away = true;
    await store.changeHealth('a', () => cooled(time.nowMs + 50_000));
    shared.away = false;
    time.advanceMs(1_000);
    expect(await coolingOf(store, 'a')).toBe('cooling');
    expect(await coolingOf(shared, 'a')).toBe('cooling');
  });
});
