import { create } from '@bufbuild/protobuf';
import { type Check, type Decision, daySpan, MemoryLimitStore, undecided } from '@gateway/limits';
import { CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import { GetDayTotalResponseSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { createLogger } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { watchedMetrics } from '../../test/watched-metrics.ts';
import { CounterTotals, type LedgerReader } from './counter-totals.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const key = 'token:1';
const day = '2026-11-20';

const counterOf = (ofKey: string, ofDay: string) => ({ key: ofKey, span: daySpan(ofDay) });
const check = { requestId: 'r', costKind: CostKind.REQUEST_AND_TOKENS };

describe('totals of counters', () => {
  let time: ManualTime;
  let store: MemoryLimitStore;
  let watched: ReturnType<typeof watchedMetrics>;
  let totals: CounterTotals;
  const recorded = new Set<string>();
  const groupTotal = vi.fn<LedgerReader['getGroupTotal']>();
  const dayTotal = vi.fn<LedgerReader['getDayTotal']>();

  beforeEach(() => {
    vi.useFakeTimers();
    time = new ManualTime(noonMs);
    store = new MemoryLimitStore({ maxKeys: 10 });
    watched = watchedMetrics();
    recorded.clear();
    dayTotal.mockReset();
    dayTotal.mockImplementation(async ({ requestIds = [] }) => {
      const includedRequestIds = requestIds.filter((id) => recorded.has(id));
      return create(GetDayTotalResponseSchema, { totalTokens: recorded.size, includedRequestIds });
    });
    totals = open(1_000);
  });
  afterEach(() => {
    totals[Symbol.dispose]();
    vi.useRealTimers();
    time[Symbol.dispose]();
  });

  function open(everyMs: number): CounterTotals {
    const logger = createLogger('limiter', 'silent');
    const usageQuery = { getDayTotal: dayTotal, getGroupTotal: groupTotal };
    return new CounterTotals({ store, usageQuery, metrics: watched.metrics, logger, everyMs });
  }
  const settle = (requestId: string) => store.settle({ key, requestId, localDay: day, tokens: 1, hasLedger: true });
  const settleMany = async (count: number) => {
    for (let n = 0; n < count; n++) await settle(`request-${n}`);
  };
  const pass = async (seconds: number) => {
    for (let n = 0; n < seconds; n++) {
      time.advanceMs(1_000);
      await vi.advanceTimersByTimeAsync(1_000);
    }
  };

  it('are loaded once for many who need one at a time, and apart for each key and day', async () => {
    const asked = ['token:1', 'token:1', 'token:2', 'token:1'].map((each) => totals.load(counterOf(each, day)));
    await Promise.all([...asked, totals.load(counterOf('token:1', '2026-11-21'))]);
    expect(dayTotal).toHaveBeenCalledTimes(3);
  });

  it('are tried again, by one request in a while, after the ledger failed', async () => {
    const pendingIds = vi.spyOn(store, 'pendingIds');
    dayTotal.mockRejectedValueOnce(new Error('down'));
    expect(await totals.load(counterOf('token:1', day))).toBeUndefined();
    expect(await totals.load(counterOf('token:2', day))).toBeUndefined();
    expect(dayTotal).toHaveBeenCalledTimes(1);
    // Reading pending requests costs much, so it must not happen in vain.
    expect(pendingIds).toHaveBeenCalledTimes(1);
    expect(await watched.valueOf('day_total_load_failures_total')).toBe(1);
    time.advanceMs(1_000);
    recorded.add('x');
    const tried = totals.load(counterOf('token:1', day));
    expect(await totals.load(counterOf('token:2', day))).toBeUndefined();
    expect(await tried).toMatchObject({ usedTokensAfter: 1 });
    expect(await totals.load(counterOf('token:2', day))).toMatchObject({ usedTokensAfter: 1 });
  });

  it('count from zero while the ledger cannot be asked, and for keys that it does not know', async () => {
    dayTotal.mockRejectedValue(new Error('down'));
    const asked: Decision = {};
    const question = async ({ hasLedger, isLedgerAway }: Check) =>
      hasLedger && !isLedgerAway ? undecided(day, [counterOf(key, day)]) : asked;
    expect(await totals.ask({ ...check, key }, question)).toBe(asked);
    expect(dayTotal).toHaveBeenCalledTimes(1);
    expect(await totals.ask({ ...check, key: 'tenant:1' }, question)).toBe(asked);
    expect(dayTotal).toHaveBeenCalledTimes(1);
  });

  it('let a request wait for a short time, and are used when they come later', async () => {
    const answer = Promise.withResolvers<void>();
    const total = dayTotal.getMockImplementation();
    dayTotal.mockImplementationOnce(async (...question) => {
      await answer.promise;
      return (await total?.(...question)) ?? create(GetDayTotalResponseSchema);
    });
    recorded.add('spent');
    const loaded = totals.load(counterOf(key, day));
    await vi.advanceTimersByTimeAsync(500);
    expect(await loaded).toBeUndefined();
    expect(await totals.load(counterOf(key, day))).toBeUndefined();
    answer.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(store.knownTotals([counterOf(key, day)])).toMatchObject([{ total: 1 }]);
    expect(dayTotal).toHaveBeenCalledTimes(1);
  });

  describe('when requests settle while the ledger is asked', () => {
    /**
     * What happens between listing the pending requests and the ledger's answer, for each query.
     */
    const meanwhile = (...happens: readonly (() => Promise<unknown>)[]) => {
      const left = [...happens];
      const answer = dayTotal.getMockImplementation();
      dayTotal.mockImplementation(async (...question) => {
        await left.shift()?.();
        return (await answer?.(...question)) ?? create(GetDayTotalResponseSchema);
      });
    };
    const settleAndRecord = async (requestId: string) => {
      await settle(requestId);
      recorded.add(requestId);
    };
    const used = async () => (await store.settle({ key, requestId: 'x', localDay: day, tokens: 0 })).usedTokens;

    it('count each once, though the total has it already, and ask no more often', async () => {
      await totals.load(counterOf(key, day));
      meanwhile(() => settleAndRecord('a'));
      expect(await totals.reload(counterOf(key, day))).toMatchObject({ usedTokensBefore: 1, usedTokensAfter: 1 });
      expect(await used()).toBe(1);
      expect(dayTotal).toHaveBeenCalledTimes(2);
      expect(await watched.valueOf('day_corrections_total')).toBe(0);
    });

    it('are loaded when it is known what the total has', async () => {
      meanwhile(
        () => settleAndRecord('a'),
        () => settle('b'),
      );
      expect(await totals.load(counterOf(key, day))).toMatchObject({ usedTokensAfter: 2, pendingTokens: 1 });
      expect(await used()).toBe(2);
      expect(dayTotal).toHaveBeenCalledTimes(3);
    });

    it('are loaded all the same when requests settle all the time, and asked for again in a second', async () => {
      totals = open(10_000);
      totals.start();
      const names = ['a', 'b', 'c', 'd'];
      meanwhile(...names.map((name) => () => settle(name)));
      expect(await totals.load(counterOf(key, day))).toMatchObject({ usedTokensAfter: 4, unaskedTokens: 1 });
      expect(dayTotal).toHaveBeenCalledTimes(4);
      await pass(1);
      expect(dayTotal).toHaveBeenCalledTimes(5);
    });

    it('are put right to the token, what was lost and what was counted twice', async () => {
      await totals.load(counterOf(key, day));
      for (const lost of ['lost-1', 'lost-2', 'lost-3']) recorded.add(lost);
      meanwhile(() => settleAndRecord('a'));
      expect(await totals.reload(counterOf(key, day))).toMatchObject({ usedTokensBefore: 1, usedTokensAfter: 4 });
      recorded.add('late');
      await totals.reload(counterOf(key, day));
      await settle('late');
      expect(await used()).toBe(6);
      meanwhile(() => settle('b'));
      expect(await totals.reload(counterOf(key, day))).toMatchObject({ usedTokensAfter: 6, pendingTokens: 1 });
    });
  });

  it('are reloaded at every turn when the key is always in use', async () => {
    totals.start();
    for (let n = 0; n < 5; n++) {
      totals.noteUse(counterOf(key, day));
      await pass(1);
    }
    expect(dayTotal).toHaveBeenCalledTimes(5);
  });

  it('are tried again although the clock was set back after the ledger failed', async () => {
    dayTotal.mockRejectedValueOnce(new Error('down'));
    time.advanceMs(3_600_000);
    expect(await totals.load(counterOf(key, day))).toBeUndefined();
    time.advanceMs(-3_600_000);
    expect(await totals.load(counterOf(key, day))).toBeDefined();
  });

  it('are compared within two seconds of a late settle, although another limiter has just done so', async () => {
    totals = open(10_000);
    totals.start();
    await totals.load(counterOf(key, day));
    await pass(35);
    recorded.add('late');
    await totals.reload(counterOf(key, day));
    await settle('late');
    const pendingIds = vi.spyOn(store, 'pendingIds');
    totals.noteLateSettle(counterOf(key, day));
    await pass(2);
    // Without a pause, so that no other limiter's comparison stands in for it.
    expect(pendingIds).toHaveBeenLastCalledWith(counterOf(key, day), 0);
    expect((await store.settle({ key, requestId: '', localDay: day, tokens: 0 })).usedTokens).toBe(1);
  });

  it('are reloaded each second, before long, while very many requests are pending', async () => {
    totals = open(10_000);
    totals.start();
    await totals.reload(counterOf(key, day));
    totals.noteUse(counterOf(key, day));
    await settleMany(6_000);
    await pass(9);
    expect(dayTotal).toHaveBeenCalledTimes(1);
    await pass(1);
    expect(dayTotal).toHaveBeenCalledTimes(2);
    await pass(2);
    expect(dayTotal).toHaveBeenCalledTimes(4);
  });

  it('are put right, in one step, by what was settled beyond the requests that are kept by their ids', async () => {
    await totals.load(counterOf(key, day));
    await settleMany(12_000);
    for (let n = 0; n < 4_000; n++) recorded.add(`request-${n}`);
    expect(await totals.reload(counterOf(key, day))).toMatchObject({ usedTokensAfter: 12_000 });
    for (let n = 4_000; n < 11_500; n++) recorded.add(`request-${n}`);
    expect(await totals.reload(counterOf(key, day))).toMatchObject({ usedTokensAfter: 11_500, pendingTokens: 0 });
    for (let n = 11_500; n < 12_000; n++) recorded.add(`request-${n}`);
    expect(await totals.reload(counterOf(key, day))).toMatchObject({ usedTokensAfter: 12_000 });
    expect(dayTotal.mock.calls.map(([{ requestIds }]) => requestIds?.length)).toEqual([0, 10_000, 6_000, 0]);
  });
});
