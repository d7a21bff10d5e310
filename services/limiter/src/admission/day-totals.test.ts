import { ManualClock } from '@gateway/time';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { DayTotalSource } from './day-total-source.ts';
import { DayTotals } from './day-totals.ts';

describe('day totals', () => {
  let clock: ManualClock;
  const loadDayTotal = vi.fn<DayTotalSource['loadDayTotal']>();
  const total = (totalTokens: number) => ({ totalTokens, includedIds: [] });
  const onFailure = vi.fn();
  let totals: DayTotals;

  beforeEach(() => {
    vi.useFakeTimers();
    vi.resetAllMocks();
    clock = new ManualClock(0);
    totals = new DayTotals({ source: { covers: () => true, loadDayTotal }, clock, onFailure });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('are loaded once for many who ask at a time, and apart for each key and day', async () => {
    loadDayTotal.mockImplementation(async ({ key }) => total(key.length));
    const asked = ['k', 'k', 'kk', 'k'].map((key) => totals.load(key, '2026-11-20'));
    expect(await Promise.all([...asked, totals.load('k', '2026-11-21')])).toEqual([1, 1, 2, 1, 1]);
    expect(loadDayTotal).toHaveBeenCalledTimes(3);
  });

  it('are unknown when the ledger takes too long', async () => {
    loadDayTotal.mockReturnValue(new Promise(() => undefined));
    const asked = totals.load('k', '2026-11-20');
    await vi.advanceTimersByTimeAsync(500);
    expect(await asked).toBeUndefined();
    expect(onFailure).toHaveBeenCalledTimes(1);
  });

  it('may take longer to be compared with what is pending, as no request waits for that', async () => {
    const { promise, resolve } = Promise.withResolvers<ReturnType<typeof total>>();
    loadDayTotal.mockReturnValue(promise);
    const asked = totals.snapshot({ key: 'k', day: '2026-11-20', requestIds: ['r'] }, 5_000);
    await vi.advanceTimersByTimeAsync(4_900);
    expect(loadDayTotal).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ requestIds: ['r'] }), 5_000);
    expect(totals.isResting).toBe(false);
    resolve(total(3));
    expect(await asked).toEqual(total(3));
  });

  it('are tried again, by one request in a while, after the ledger failed', async () => {
    loadDayTotal.mockRejectedValue(new Error('down'));
    expect(await totals.load('a', '2026-11-20')).toBeUndefined();
    expect(await totals.load('b', '2026-11-20')).toBeUndefined();
    expect(loadDayTotal).toHaveBeenCalledTimes(1);
    expect(totals.isResting).toBe(true);
    clock.advanceMs(1_000);
    expect(totals.isResting).toBe(false);
    loadDayTotal.mockResolvedValue(total(7));
    const tried = totals.load('a', '2026-11-20');
    expect(await totals.load('b', '2026-11-20')).toBeUndefined();
    expect(await tried).toBe(7);
    expect(await totals.load('b', '2026-11-20')).toBe(7);
  });
});
