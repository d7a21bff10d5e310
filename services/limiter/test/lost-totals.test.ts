import { create } from '@bufbuild/protobuf';
import { budgetSpan, daySpan } from '@gateway/limits';
import { BudgetPeriod, LimitName } from '@gateway/proto/limiter/v1/limit_pb.js';
import { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { GetDayTotalResponseSchema, GetGroupTotalResponseSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readLimiterConfig } from '../src/config.ts';
import { createLimiterService, type LimiterPeers } from '../src/service.ts';
import { openLimiters } from './fallback-limiters.ts';
import { FlakyStore } from './flaky-store.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const localDay = '2026-11-20';
const limit = 100n;

/** What counts, with the field of the request and the known total that names it. */
const kinds = {
  'tokens of a token': {
    isMoney: false,
    terms: { limits: { tokensPerDay: limit } },
    known: { firstDay: localDay },
    counter: { key: 'token:1', span: daySpan(localDay) },
  },
  'tokens of a group': {
    isMoney: false,
    terms: { group: { key: 'group:g', limits: { tokensPerDay: limit } } },
    known: { ofGroup: true, firstDay: localDay },
    counter: { key: 'group:g', span: daySpan(localDay) },
  },
  'a budget of a day': budgetOf(BudgetPeriod.DAY, localDay),
  'a budget of a week': budgetOf(BudgetPeriod.WEEK, '2026-11-16'),
  'a budget of a month': budgetOf(BudgetPeriod.MONTH, '2026-11-01'),
} as const;

function budgetOf(period: BudgetPeriod, firstDay: string) {
  return {
    isMoney: true,
    terms: { group: { key: 'group:g', limits: { budget: { amountMicros: limit, period } } } },
    known: { ofGroup: true, period, firstDay },
    counter: { key: 'group:g', span: budgetSpan(period, localDay) },
  } as const;
}

describe.each(Object.entries(kinds))('%s that the store has lost', (_, { isMoney, terms, known, counter }) => {
  let time: ManualTime;
  let store: FlakyStore;
  let stack: AsyncDisposableStack;
  let spent: number;
  let ledger: 'answers' | 'fails' | 'is silent';
  let answerLate: (() => void)[];
  let asked: number;

  beforeEach(() => {
    vi.useFakeTimers();
    time = new ManualTime(noonMs);
    store = new FlakyStore();
    stack = new AsyncDisposableStack();
    [spent, ledger, answerLate, asked] = [0, 'answers', [], 0];
  });
  afterEach(async () => {
    for (const answer of answerLate) answer();
    await stack.disposeAsync();
    vi.useRealTimers();
    time[Symbol.dispose]();
  });

  async function ofLedger<T>(total: () => T): Promise<T> {
    asked += 1;
    if (ledger === 'fails') throw new Error('the ledger is away');
    if (ledger === 'is silent') await new Promise<void>((resolve) => answerLate.push(resolve));
    return total();
  }
  const usageQuery: NonNullable<LimiterPeers['usageQuery']> = {
    getDayTotal: () => ofLedger(() => create(GetDayTotalResponseSchema, { totalTokens: BigInt(spent) })),
    getGroupTotal: () => {
      const total = BigInt(spent);
      return ofLedger(() => create(GetGroupTotalResponseSchema, { totalTokens: total, costMicros: total }));
    },
  };

  /** A limiter with its own memory of this store. */
  async function limiterOf(remote = store) {
    const [limits = expect.fail('there is one')] = openLimiters(stack, [remote]);
    await limits.start();
    const metrics = new Metrics();
    const runtime = { logger: createLogger('limiter', 'silent'), metrics };
    const service = createLimiterService(readLimiterConfig({}), { usageQuery }, runtime, {
      ...(limits && { store: limits }),
    });
    stack.use(service);
    const limiter = directClientOf(service.routes, LimiterService);
    let count = 0;
    const ask = async (knownTotals: readonly object[] = []) => {
      const answer = limiter.admit({
        key: 'token:1',
        requestId: `r-${++count}`,
        ...terms,
        knownTotals: [...knownTotals],
      });
      await vi.advanceTimersByTimeAsync(600);
      time.advanceMs(600);
      return (await answer).refusal;
    };
    const use = async (amount: number, requestId = `u-${++count}`) => {
      const settlement = {
        key: 'token:1',
        requestId,
        localDay,
        tokens: BigInt(amount),
        costMicros: BigInt(amount),
        ...terms,
      };
      await limiter.settle(settlement);
      spent += amount;
    };
    const reserve = async () => {
      const reservation = { key: 'token:1', requestId: 'r-1', localDay, costMicros: 1n, ...terms };
      return (await limiter.reserve(reservation)).refusal;
    };
    const operator = directClientOf(service.routes, LimiterOperatorService);
    const reload = async () => {
      if (!isMoney) return operator.reconcileDay({ key: counter.key, localDay, groupKey: '' });
      await vi.advanceTimersByTimeAsync(0);
      const totals = await usageQuery.getGroupTotal({ groupId: 'g' });
      return limits.reload(counter, { totalTokens: Number(totals.costMicros), includedIds: [], missingIds: [] });
    };
    return { ask, use, reserve, reload, metrics };
  }

  it('is spent where this limiter saw it spent', async () => {
    const { ask, use } = await limiterOf();
    expect(await ask()).toBeUndefined();
    await use(100);
    expect(await ask()).toBeDefined();
    for (const state of ['fails', 'is silent'] as const) {
      ledger = state;
      store.forgetEverything();
      const refusals = [await ask(), await ask(), await ask()];
      expect(refusals.every((refusal) => refusal !== undefined && refusal.retryAfterMs > 60_000)).toBe(true);
    }
  });

  it('has what was left of it where this limiter saw that, with what is used since', async () => {
    const { ask, use } = await limiterOf();
    await ask();
    await use(60);
    await ask();
    ledger = 'fails';
    store.forgetEverything();
    await use(30);
    expect(await ask()).toBeUndefined();
    await use(10);
    expect(await ask()).toBeDefined();
  });

  it('is spent where only the edge saw it spent', async () => {
    ledger = 'fails';
    const { ask } = await limiterOf();
    expect((await ask([{ ...known, total: limit }]))?.retryAfterMs).toBeGreaterThan(60_000);
    expect((await ask())?.retryAfterMs).toBeGreaterThan(60_000);
  });

  it(isMoney ? 'refuses, shortly, where no one saw it' : 'counts from zero where no one saw it', async () => {
    spent = 100;
    ledger = 'fails';
    const { ask, metrics } = await limiterOf();
    const refusal = await ask();
    const continued = isMoney ? 'refused' : 'from_zero';
    expect(await metrics.exposition()).toContain(`missing_totals_total{continued="${continued}"} 1`);
    if (isMoney) expect(refusal).toMatchObject({ limit: LimitName.BUDGET, retryAfterMs: 3_000 });
    else expect(refusal).toBeUndefined();
    // The first question after the ledger is back has its total.
    ledger = 'answers';
    time.advanceMs(3_000);
    expect((await ask())?.retryAfterMs).toBeGreaterThan(60_000);
  });

  it('is what the ledger says late, asked once for all who wait', async () => {
    spent = 100;
    ledger = 'is silent';
    const { ask } = await limiterOf();
    await Promise.all([ask(), ask(), ask()]);
    expect(asked).toBe(1);
    ledger = 'answers';
    for (const answer of answerLate.splice(0)) answer();
    await vi.advanceTimersByTimeAsync(1);
    expect((await ask())?.retryAfterMs).toBeGreaterThan(60_000);
    expect(asked).toBe(1);
  });

  it('is raised to what a limiter saw when the store comes back as an older copy', async () => {
    const { ask, use } = await limiterOf();
    await ask();
    await use(100);
    expect(await ask()).toBeDefined();
    ledger = 'fails';
    store.away = 'before the call';
    await ask();
    store.forgetEverything();
    store.away = 'no';
    await store.raise([{ counter, total: 40 }]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await ask())?.retryAfterMs).toBeGreaterThan(60_000);
  });

  it('is corrected by the ledger where what a limiter saw was too much', async () => {
    ledger = 'fails';
    const { ask, reload } = await limiterOf();
    expect(await ask([{ ...known, total: limit }])).toBeDefined();
    [ledger, spent] = ['answers', 20];
    time.advanceMs(3_000);
    await reload();
    expect(await ask()).toBeUndefined();
  });

  it('is not reserved from either', async () => {
    if (!isMoney) return;
    const { ask, reserve } = await limiterOf();
    await ask();
    store.forgetEverything();
    expect(await reserve()).toMatchObject({ limit: LimitName.BUDGET, retryAfterMs: 3_000 });
  });
});
