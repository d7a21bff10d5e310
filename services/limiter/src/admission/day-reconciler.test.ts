import { ManualClock } from '@gateway/time';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { watchedEvents } from '../../test/watched-events.ts';
import { MemoryLimitStore } from '../store/memory-limit-store.ts';
import { DayReconciler } from './day-reconciler.ts';
import type { DayTotalSource } from './day-total-source.ts';
import { DayTotals } from './day-totals.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const key = 'token:1';
const day = '2026-11-20';

/** A store that every second call reaches some milliseconds late. */
class DistantStore extends MemoryLimitStore {
  readonly #clock: ManualClock;
  #calls = 0;

  constructor(clock: ManualClock) {
    super({ clock, maxKeys: 10 });
    this.#clock = clock;
  }

  override beginReconciliation(...parameters: Parameters<MemoryLimitStore['beginReconciliation']>) {
    this.#clock.advanceMs(this.#calls++ % 2 === 0 ? 5 : 0);
    return super.beginReconciliation(...parameters);
  }
}

describe('the comparison of a day in use with the ledger', () => {
  let clock: ManualClock;
  let store: MemoryLimitStore;
  let reconciler: DayReconciler;
  const ledger = new Set<string>();
  const loadDayTotal = vi.fn<DayTotalSource['loadDayTotal']>();

  beforeEach(() => {
    clock = new ManualClock(noonMs);
    store = new DistantStore(clock);
    ledger.clear();
    vi.clearAllMocks();
    loadDayTotal.mockImplementation(async ({ requestIds }) => ({
      totalTokens: ledger.size,
      includedIds: requestIds.filter((id) => ledger.has(id)),
    }));
    reconciler = open(1_000);
  });

  function open(everyMs: number): DayReconciler {
    const source = { covers: () => true, loadDayTotal };
    const dayTotals = new DayTotals({ source, clock, onFailure: () => undefined });
    return new DayReconciler({ store, dayTotals, clock, events: watchedEvents(), everyMs });
  }

  const settle = (requestId: string) =>
    store.settle({ key, requestId, localDay: day, tokens: 1, dayBase: () => undefined });
  const settleMany = async (count: number) => {
    for (let n = 0; n < count; n++) await settle(`request-${n}`);
  };

  it('happens at every turn when there is always somebody who asks', async () => {
    for (let n = 0; n < 5_000; n++) {
      reconciler.noteUse(key, day);
      clock.advanceMs(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(loadDayTotal.mock.calls.length).toBeGreaterThanOrEqual(4);
  });

  it('happens each second, before long, while very many requests are pending', async () => {
    reconciler = open(10_000);
    const compareAfter = async (ms: number) => {
      clock.advanceMs(ms);
      reconciler.noteUse(key, day);
      await new Promise((resolve) => setImmediate(resolve));
      return loadDayTotal.mock.calls.length;
    };
    reconciler.noteUse(key, day);
    await settleMany(6_000);
    expect(await compareAfter(9_000)).toBe(0);
    expect(await compareAfter(1_000)).toBe(1);
    // The first comparison keeps others away for as long as an ordinary one does.
    expect(await compareAfter(9_000)).toBe(2);
    expect(await compareAfter(1_000)).toBe(3);
    expect(await compareAfter(1_000)).toBe(4);
  });

  it('waits for the ledger for as long as the answer is of use', async () => {
    const waits = async (everyMs: number) => {
      await open(everyMs).reconcile(key, day);
      return loadDayTotal.mock.lastCall?.[1];
    };
    expect(await waits(10_000)).toBe(5_000);
    expect(await waits(1_000)).toBe(1_000);
  });

  it('reads nothing of what is pending while the ledger is not asked, because it failed a moment ago', async () => {
    const begun = vi.spyOn(store, 'beginReconciliation');
    loadDayTotal.mockRejectedValue(new Error('down'));
    for (let n = 0; n < 3; n++) expect(await reconciler.reconcile(key, day)).toBeUndefined();
    expect(begun).toHaveBeenCalledTimes(1);
    clock.advanceMs(1_000);
    expect(await reconciler.reconcile(key, day)).toBeUndefined();
    expect(begun).toHaveBeenCalledTimes(2);
  });

  it('puts right, in one step, what was settled beyond the requests that are kept by their ids', async () => {
    await settleMany(12_000);
    for (let n = 0; n < 11_500; n++) ledger.add(`request-${n}`);
    expect(await reconciler.reconcile(key, day)).toMatchObject({ usedTokensAfter: 11_500, pendingTokens: 0 });
    for (let n = 11_500; n < 12_000; n++) ledger.add(`request-${n}`);
    expect(await reconciler.reconcile(key, day)).toMatchObject({ usedTokensAfter: 12_000 });
    expect(loadDayTotal.mock.calls.map(([{ requestIds }]) => requestIds.length)).toEqual([10_000, 0]);
  });
});
