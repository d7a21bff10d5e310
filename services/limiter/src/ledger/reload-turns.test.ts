import { create } from '@bufbuild/protobuf';
import { type CounterName, daySpan, type LimitStore, MemoryLimitStore } from '@gateway/limits';
import { GetDayTotalResponseSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { createLogger } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { afterEach, beforeEach, describe, expect, it, type Mock, vi } from 'vitest';
import { watchedMetrics } from '../../test/watched-metrics.ts';
import { CounterTotals, type LedgerReader } from './counter-totals.ts';

const day = '2026-11-20';
const counter: CounterName = { key: 'token:1', span: daySpan(day) };
const foreign: CounterName = { key: 'tenant:1', span: daySpan(day) };

describe('how often totals are reloaded, every ten seconds by default', () => {
  let time: ManualTime;
  let store: MemoryLimitStore;
  let totals: CounterTotals;
  let pendingIds: Mock<LimitStore['pendingIds']>;
  const dayTotal = vi.fn<LedgerReader['getDayTotal']>();

  beforeEach(() => {
    vi.useFakeTimers();
    time = new ManualTime(Date.parse('2026-11-20T11:00:00Z'));
    store = new MemoryLimitStore({ maxKeys: 10 });
    pendingIds = vi.spyOn<LimitStore, 'pendingIds'>(store, 'pendingIds');
    dayTotal.mockReset();
    dayTotal.mockImplementation(async () => create(GetDayTotalResponseSchema, { totalTokens: 1 }));
    const usageQuery = { getDayTotal: dayTotal, getGroupTotal: () => expect.fail('not expected here') };
    const logger = createLogger('limiter', 'silent');
    totals = new CounterTotals({
      store,
      usageQuery,
      metrics: watchedMetrics().metrics,
      logger,
      everyMs: 10_000,
    });
    totals.start();
  });
  afterEach(() => {
    totals[Symbol.dispose]();
    vi.useRealTimers();
    time[Symbol.dispose]();
  });

  /** The seconds of this time in which the ledger was asked. */
  const asked = async (seconds: number) => {
    const when: number[] = [];
    for (let n = 1; n <= seconds; n++) {
      const before = dayTotal.mock.calls.length;
      time.advanceMs(1_000);
      await vi.advanceTimersByTimeAsync(1_000);
      if (dayTotal.mock.calls.length > before) when.push(n);
    }
    return when;
  };

  it('is at each turn after a use, and other limiters leave it to this one until just before the next', async () => {
    totals.noteUse(counter);
    expect(await asked(35)).toEqual([10, 20, 30]);
    expect(pendingIds.mock.calls).toEqual(Array.from({ length: 3 }, () => [counter, 9_000]));
  });

  it('is at each turn while the key is used all the time', async () => {
    const when: number[] = [];
    for (let n = 1; n <= 25; n++) {
      totals.noteUse(counter);
      if ((await asked(1)).length > 0) when.push(n);
    }
    expect(when).toEqual([10, 20]);
  });

  it('is each second, for half a minute, after a counter got its first total: more may be on its way', async () => {
    await totals.load(counter);
    const when = await asked(45);
    expect(when.slice(0, 29)).toEqual(Array.from({ length: 29 }, (_, n) => n + 1));
    expect(when.length).toBeLessThan(33);
    expect(pendingIds).toHaveBeenNthCalledWith(20, counter, 0);
  });

  it('becomes less for an idle key: every ten minutes in the end, of which other limiters wait a turn', async () => {
    totals.noteUse(counter);
    time.advanceMs(3_600_000);
    await asked(1);
    const when = await asked(1_300);
    expect(when).toEqual([600, 1_200]);
    expect(pendingIds).toHaveBeenLastCalledWith(counter, 9_000);
  });

  it('is each turn again for an idle key that was wrong', async () => {
    await totals.load(counter);
    time.advanceMs(3_600_000);
    await asked(1);
    dayTotal.mockImplementation(async () => create(GetDayTotalResponseSchema, { totalTokens: 5 }));
    await totals.reload(counter);
    expect((await asked(25)).length).toBeGreaterThanOrEqual(2);
  });

  it('is each turn again for an idle key after a late settle', async () => {
    totals.noteUse(counter);
    time.advanceMs(3_600_000);
    await asked(1);
    totals.noteLateSettle(counter);
    expect((await asked(30)).filter((second) => second > 5).length).toBeGreaterThanOrEqual(2);
  });

  it('is each second while requests settle during every comparison, and it stays unknown what the ledger has', async () => {
    let settled = 0;
    dayTotal.mockImplementation(async () => {
      await store.settle({ key: 'token:1', requestId: `r${settled++}`, localDay: day, tokens: 1, hasLedger: true });
      return create(GetDayTotalResponseSchema, {});
    });
    await totals.reload(counter);
    expect(await asked(2)).toEqual([1, 2]);
  });

  it('is never for keys that the ledger does not know', async () => {
    totals.noteUse(foreign);
    totals.noteLateSettle(foreign);
    expect(await asked(30)).toEqual([]);
    expect(pendingIds).not.toHaveBeenCalled();
  });

  it('is not at all during a turn that takes long', async () => {
    totals.noteUse(counter);
    const answer = Promise.withResolvers<Awaited<ReturnType<LedgerReader['getDayTotal']>>>();
    dayTotal.mockReturnValueOnce(answer.promise);
    expect(await asked(60)).toEqual([10]);
    answer.resolve(create(GetDayTotalResponseSchema, { totalTokens: 1 }));
    expect((await asked(20)).length).toBeGreaterThanOrEqual(1);
  });

  it('is never for a day that ended six hours ago: it is forgotten', async () => {
    totals.noteUse(counter);
    // Local midnight is at 23:00 UTC.
    time.setMs(Date.parse('2026-11-21T04:30:00Z'));
    expect(await asked(1_300)).not.toEqual([]);
    time.setMs(Date.parse('2026-11-21T05:00:00Z'));
    expect(await asked(1_300)).toEqual([]);
  });

  it('is no more after it was closed', async () => {
    totals.noteUse(counter);
    totals[Symbol.dispose]();
    expect(await asked(30)).toEqual([]);
  });
});
