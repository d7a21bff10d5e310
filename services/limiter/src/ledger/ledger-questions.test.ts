import { create } from '@bufbuild/protobuf';
import {
  budgetSpan,
  type Check,
  type CounterName,
  daySpan,
  type LimitStore,
  MemoryLimitStore,
  subjectsOf,
  undecided,
} from '@gateway/limits';
import { BudgetPeriod, CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import { GetDayTotalResponseSchema, GetGroupTotalResponseSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { createLogger } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { watchedMetrics } from '../../test/watched-metrics.ts';
import { CounterTotals, type LedgerReader } from './counter-totals.ts';

const day = '2026-11-20';
const ofToken: CounterName = { key: 'token:1', groupKey: 'group:g', span: daySpan(day) };
const ofGroup: CounterName = { key: 'group:g', span: daySpan(day) };
const money: CounterName = { key: 'group:g', span: budgetSpan(BudgetPeriod.MONTH, day) };
const check: Check = {
  ...{ key: 'token:1', requestId: 'r', costKind: CostKind.REQUEST_AND_TOKENS },
  group: { key: 'group:g', limits: { tokensPerDay: 9 } },
};

describe('questions to the usage ledger', () => {
  let time: ManualTime;
  let store: MemoryLimitStore;
  let watched: ReturnType<typeof watchedMetrics>;
  const logger = createLogger('limiter', 'silent');
  const warn = vi.spyOn(logger, 'warn');
  const info = vi.spyOn(logger, 'info');
  const dayTotal = vi.fn<LedgerReader['getDayTotal']>();
  const groupTotal = vi.fn<LedgerReader['getGroupTotal']>();

  beforeEach(() => {
    vi.resetAllMocks();
    time = new ManualTime(Date.parse('2026-11-20T11:00:00Z'));
    store = new MemoryLimitStore({ maxKeys: 10 });
    watched = watchedMetrics();
    dayTotal.mockImplementation(async () => create(GetDayTotalResponseSchema, { totalTokens: 12 }));
    groupTotal.mockImplementation(async () => create(GetGroupTotalResponseSchema, { totalTokens: 34, costMicros: 56 }));
  });
  afterEach(() => time[Symbol.dispose]());

  const open = (usageQuery: LedgerReader | undefined = { getDayTotal: dayTotal, getGroupTotal: groupTotal }) =>
    new CounterTotals({ store, usageQuery, metrics: watched.metrics, logger, everyMs: 1_000 });
  const withoutLedger = () => {
    const { metrics } = watched;
    return new CounterTotals({ store, usageQuery: undefined, metrics, logger, everyMs: 1_000 });
  };

  it('name the token and its day', async () => {
    expect(await open().load(ofToken)).toMatchObject({ usedTokensAfter: 12 });
    expect(dayTotal.mock.lastCall?.[0]).toEqual({ tokenId: '1', localDay: day, requestIds: [] });
    expect(groupTotal).not.toHaveBeenCalled();
  });

  it('name the group and all days of the period, of tokens and of money', async () => {
    expect(await open().load(ofGroup)).toMatchObject({ usedTokensAfter: 34 });
    const question = { groupId: 'g', requestIds: [] };
    expect(groupTotal.mock.lastCall).toEqual([{ ...question, firstDay: day, lastDay: day }, { timeoutMs: 10_000 }]);
    expect(await open().load(money)).toMatchObject({ usedTokensAfter: 56 });
    expect(groupTotal.mock.lastCall?.[0]).toEqual({ ...question, firstDay: '2026-11-01', lastDay: '2026-11-30' });
    expect(dayTotal).not.toHaveBeenCalled();
  });

  it('are asked only for tokens and groups with valid ids', () => {
    const covered = ['token:1', 'token:a-long-id', 'group:g'];
    const foreign = ['tenant:1', 'my-token:1', 'token:', 'token:a b', 'group:\u00e9', 'token:1\n'];
    expect([...covered, ...foreign].filter((key) => open().covers(key))).toEqual(covered);
    expect(covered.filter((key) => withoutLedger().covers(key))).toEqual([]);
  });

  it('are needed for a key and for its group, each by itself', () => {
    expect(open().covered(check)).toEqual({
      ...check,
      hasLedger: true,
      group: { key: 'group:g', limits: { tokensPerDay: 9 }, hasLedger: true },
    });
    expect(open().covered({ key: 'tenant:1', group: { key: 'group:g' } })).toEqual({
      key: 'tenant:1',
      hasLedger: false,
      group: { key: 'group:g', hasLedger: true },
    });
    expect(open().covered({ key: 'token:1' })).toEqual({ key: 'token:1', hasLedger: true });
  });

  describe('of which one fails', () => {
    /** What is asked of the store: which keys must have a total first. */
    const needs = async () => {
      const asked: (readonly (boolean | undefined)[])[] = [];
      const decision = await open().ask(check, async (terms) => {
        asked.push(subjectsOf(terms).map(({ hasLedger, isLedgerAway }) => hasLedger && !isLedgerAway));
        return asked.length === 1 ? undecided(day, [ofToken, ofGroup]) : {};
      });
      expect(decision).toEqual({});
      return asked;
    };

    it('let the group start at zero, and not its token', async () => {
      groupTotal.mockRejectedValue(new Error('down'));
      expect(await needs()).toEqual([
        [true, true],
        [true, false],
      ]);
    });

    it('let the token start at zero, and not its group', async () => {
      dayTotal.mockRejectedValue(new Error('down'));
      expect(await needs()).toEqual([
        [true, true],
        [false, true],
      ]);
    });

    it('are counted and logged with the reason', async () => {
      dayTotal.mockRejectedValue(new Error('down'));
      expect(await open().load(ofToken)).toBeUndefined();
      expect(await watched.valueOf('day_total_load_failures_total')).toBe(1);
      expect(warn.mock.calls).toEqual([[{ reason: 'down' }, expect.stringContaining('could not be loaded')]]);
    });
  });

  it('leave a key without a ledger alone when its group has one', async () => {
    const asked: (boolean | undefined)[] = [];
    const terms = { ...check, key: 'tenant:1' };
    await open().ask(terms, async ({ hasLedger }) => {
      asked.push(hasLedger);
      return asked.length === 1 ? undecided(day, [ofGroup]) : {};
    });
    expect(asked).toEqual([false, false]);
  });

  it('leave a group without a ledger alone when its key has one', async () => {
    const asked: (boolean | undefined)[] = [];
    await open().ask({ ...check, group: { key: 'tenant:g' } }, async ({ group }) => {
      asked.push(group?.hasLedger);
      return asked.length === 1 ? undecided(day, [ofToken]) : {};
    });
    expect(asked).toEqual([false, false]);
  });

  it('tell the store which of its requests the ledger has, and which it lacks', async () => {
    const reload = vi.spyOn(store, 'reload');
    const counter = { key: 'token:1', span: daySpan(day) };
    for (const requestId of ['a', 'b'])
      await store.settle({ key: 'token:1', requestId, localDay: day, tokens: 1, hasLedger: true });
    dayTotal.mockResolvedValueOnce(create(GetDayTotalResponseSchema, { totalTokens: 1, includedRequestIds: ['a'] }));
    await open().reload(counter);
    expect(reload.mock.calls[0]?.[1]).toMatchObject({ totalTokens: 1, includedIds: ['a'], missingIds: ['b'] });
  });

  it('end with an error when the day changes during each of a few attempts', async () => {
    const question = vi.fn(async () => undecided(day, [ofToken]));
    await expect(open().ask(check, question)).rejects.toThrow('the local day changed');
    expect(question.mock.calls.length).toBeLessThan(10);
  });

  it('have no answer, and are no failure, without a ledger', async () => {
    expect(await withoutLedger().reload(ofToken)).toBeUndefined();
    expect(await withoutLedger().reload(ofGroup)).toBeUndefined();
    expect(await watched.valueOf('day_total_load_failures_total')).toBe(0);
    expect(warn).not.toHaveBeenCalled();
  });

  it('are not asked when another limiter has just asked', async () => {
    vi.spyOn<LimitStore, 'pendingIds'>(store, 'pendingIds').mockResolvedValue(undefined);
    expect(await open().reload(ofToken)).toBeUndefined();
    expect(dayTotal).not.toHaveBeenCalled();
  });

  it('leave it unknown what a counter has when the ledger goes away between two of them', async () => {
    dayTotal.mockImplementationOnce(async () => {
      await store.settle({ key: 'token:1', requestId: 'a', localDay: day, tokens: 1, hasLedger: true });
      return create(GetDayTotalResponseSchema, { totalTokens: 12 });
    });
    dayTotal.mockRejectedValueOnce(new Error('down'));
    expect(await open().load({ key: 'token:1', span: daySpan(day) })).toBeUndefined();
    expect(dayTotal).toHaveBeenCalledTimes(2);
  });

  it('correct a counter that lost something, which is counted and logged with the difference', async () => {
    const totals = open();
    await totals.load(ofToken);
    expect(await watched.valueOf('day_corrections_total')).toBe(0);
    dayTotal.mockResolvedValueOnce(create(GetDayTotalResponseSchema, { totalTokens: 20 }));
    expect(await totals.reload(ofToken)).toMatchObject({ usedTokensBefore: 12, usedTokensAfter: 20 });
    expect(await watched.valueOf('day_corrections_total')).toBe(1);
    expect(info.mock.calls).toEqual([[{ tokens: 8 }, expect.stringContaining('was corrected')]]);
    await totals.load(money);
    groupTotal.mockResolvedValueOnce(create(GetGroupTotalResponseSchema, { costMicros: 66 }));
    await totals.reload(money);
    expect(info.mock.lastCall?.[0]).toEqual({ micros: 10 });
  });
});
