import { randomUUID } from 'node:crypto';
import { type Check, type LimitStore, subjectsOf } from '@gateway/limits';
import { BudgetPeriod, CostKind, LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { addLocalDays, localDayOf, startOfLocalDayMs } from '@gateway/time';
import type { ManualTime } from '@gateway/time/simulated';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AllLimits, counterOf, type LimitedMember, ReferenceGroup } from './reference-group.ts';
import { openMemoryStore, openRedisStore } from './store-under-test.ts';

const isLong = process.env.FAULTS === 'long';

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const limits: fc.Arbitrary<AllLimits> = fc.record({
  requestsPerMinute: optional(fc.integer({ min: 0, max: 4 })),
  tokensPerDay: optional(fc.constantFrom(0, 5, 20)),
  concurrentRequests: optional(fc.integer({ min: 0, max: 3 })),
  budget: optional(fc.record({ amount: fc.constantFrom(0, 30, 100), period: fc.constantFrom('day', 'week', 'month') })),
});
const request = {
  requestId: fc.integer({ min: 0, max: 9 }).map((n) => `request-${n}`),
  /** Two tokens of a group, and one without. */
  key: fc.constantFrom('a', 'b', 'alone'),
};
const amounts = { tokens: fc.nat(12), cost: fc.nat(40) };
const step = fc.oneof(
  { weight: 7, arbitrary: fc.record({ verb: fc.constant('admit'), ...request, isBudgeted: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ verb: fc.constant('reserve'), ...request, ...amounts, isLate: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      verb: fc.constant('settle'),
      ...request,
      ...amounts,
      ended: fc.boolean(),
      isLate: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('renew'), ...request, cost: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('change'), key: fc.constantFrom('a', 'b', 'group'), limits }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('end all') }) },
  {
    weight: 6,
    arbitrary: fc.record({
      verb: fc.constant('advance'),
      ms: fc.oneof(
        fc.constantFrom(0, 1, 999, 1_000, 14_999, 15_000, 29_999, 30_000, 59_999, 60_000, 120_000),
        fc.integer({ min: 0, max: 70_000 }),
        fc.integer({ min: 0, max: 2 * 86_400_000 }),
      ),
    }),
  },
);
// Ordinary days, the nights on which clocks change, and the ends of weeks, months and a year.
const startMs = fc
  .record({
    day: fc.constantFrom(
      '2026-11-20',
      '2026-03-29',
      '2026-10-25',
      '2026-11-30',
      '2026-12-01',
      '2028-02-29',
      '2027-01-01',
    ),
    offsetMs: fc.oneof(fc.integer({ min: 0, max: 86_400_000 }), fc.integer({ min: -90_000, max: 0 })),
  })
  .map(({ day, offsetMs }) => startOfLocalDayMs(day) + offsetMs);
const plan = fc.record({
  startMs,
  limits: fc.record({ a: limits, b: limits, alone: limits, group: limits }),
  steps: fc.array(step, { minLength: 1, maxLength: 50, size: 'max' }),
});
type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;

interface Opened {
  readonly store: LimitStore;
  readonly time: ManualTime;
}

/** Runs one plan on a store and on the reference side by side, and compares all that they show. */
async function agreeWithReference({ store, time }: Opened, given: Plan): Promise<void> {
  time.setMs(given.startMs);
  const reference = new ReferenceGroup();
  const run = randomUUID();
  const current: Record<string, AllLimits> = { ...given.limits };
  const membersOf = (key: string): readonly LimitedMember[] => [
    { name: key, limits: current[key] ?? {}, isGroup: false },
    ...(key === 'alone' ? [] : [{ name: 'group', limits: current.group ?? {}, isGroup: true }]),
  ];
  const termsOf = (key: string) => {
    const group = { key: `${run}-group`, limits: messageOf(current.group ?? {}) };
    return { key: `${run}-${key}`, limits: messageOf(current[key] ?? {}), ...(key !== 'alone' && { group }) };
  };
  const dayOf = (isLate: boolean) => addLocalDays(localDayOf(time.nowMs), isLate ? -1 : 0);
  /** Yesterday's counters are kept for six hours: a later request belongs to today. */
  const keptDayOf = (isLate: boolean) => dayOf(isLate && time.nowMs < startOfLocalDayMs(dayOf(false)) + 6 * 3_600_000);
  const compare = async () => {
    for (const key of ['a', 'b', 'alone']) {
      const check: Check = { ...termsOf(key), requestId: '', costKind: CostKind.REQUEST_ONLY };
      const { status, groupStatus } = await store.admit(check);
      const shown = [status, groupStatus].filter((each) => each !== undefined);
      const seen = shown.map(({ requests, concurrency, budget }) => ({
        free: requests?.remaining,
        running: concurrency?.running,
        money: budget && [budget.spentMicros, budget.reservedMicros],
      }));
      expect(seen).toEqual(membersOf(key).map((member) => expectedStatus(reference, member, time.nowMs)));
    }
  };
  const endAll = async () => {
    for (const key of ['a', 'b', 'alone']) {
      for (let n = 0; n < 10; n++) {
        const nothing = { day: dayOf(false), tokens: 0, cost: 0, ended: true };
        reference.settle(`request-${n}`, membersOf(key), nothing, time.nowMs);
        const settlement = { localDay: nothing.day, tokens: 0, costMicros: 0, ended: true };
        await store.settle({ ...termsOf(key), requestId: `request-${n}`, ...settlement });
      }
    }
  };
  for (const action of given.steps) {
    const nowMs = time.nowMs;
    switch (action.verb) {
      case 'advance':
        time.advanceMs(action.ms);
        break;
      case 'change':
        current[action.key] = action.limits;
        break;
      case 'end all':
        await endAll();
        break;
      case 'admit': {
        const costKind = action.isBudgeted ? CostKind.REQUEST_AND_TOKENS : CostKind.REQUEST_ONLY;
        const { refusal } = await store.admit({ ...termsOf(action.key), requestId: idOf(action), costKind });
        const expected = reference.admit(idOf(action), membersOf(action.key), action.isBudgeted, nowMs);
        expect(plainRefusal(refusal)).toEqual(expected);
        break;
      }
      case 'reserve': {
        const localDay = keptDayOf(action.isLate);
        const asked = { ...termsOf(action.key), requestId: idOf(action), localDay, costMicros: action.cost };
        const expected = reference.reserve(idOf(action), membersOf(action.key), localDay, action.cost, nowMs);
        expect(plainRefusal(await store.reserve(asked))).toEqual(expected);
        break;
      }
      case 'settle': {
        const { tokens, cost, ended } = action;
        const day = keptDayOf(action.isLate);
        reference.settle(idOf(action), membersOf(action.key), { day, tokens, cost, ended }, nowMs);
        const used = { localDay: day, tokens, costMicros: cost, ended };
        await store.settle({ ...termsOf(action.key), requestId: idOf(action), ...used });
        break;
      }
      case 'renew':
        await renew(action);
    }
    await compare();
  }

  async function renew({ key, requestId, cost }: { key: string; requestId: string; cost: number }) {
    const members = membersOf(key);
    const localDay = dayOf(false);
    const id = `${requestId}-${key}`;
    reference.renew(id, members, { localDay, cost }, time.nowMs);
    await store.renew([{ ...termsOf(key), requestId: id, localDay, costMicros: cost }]);
  }
}

/** Requests of different tokens have different ids. */
const idOf = ({ requestId, key }: { readonly requestId: string; readonly key: string }) => `${requestId}-${key}`;

const periods = { day: BudgetPeriod.DAY, week: BudgetPeriod.WEEK, month: BudgetPeriod.MONTH } as const;

function messageOf({ tokensPerDay, budget, ...others }: AllLimits) {
  return {
    ...others,
    tokensPerDay: tokensPerDay,
    budget: budget && { amountMicros: budget.amount, period: periods[budget.period] },
  };
}

function expectedStatus(reference: ReferenceGroup, { name, limits }: LimitedMember, nowMs: number) {
  const { requestsPerMinute, concurrentRequests, budget } = limits;
  const counter = budget && counterOf(name, budget.period, localDayOf(nowMs));
  return {
    free:
      requestsPerMinute === undefined ? undefined : Math.max(0, requestsPerMinute - reference.inWindow(name, nowMs)),
    running: concurrentRequests === undefined ? undefined : reference.running(name, nowMs),
    money: counter === undefined ? undefined : [reference.spent(counter), reference.reserved(counter, nowMs)],
  };
}

function plainRefusal(refusal: Awaited<ReturnType<LimitStore['reserve']>>) {
  if (refusal === undefined) return undefined;
  const limit = LimitName[refusal.limit]?.toLowerCase();
  return { limit, retryAtMs: refusal.retryAtMs };
}

describe('keys and their group are limited exactly as specified', () => {
  it('in memory', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (given) => {
        await using opened = await openMemoryStore(given.startMs);
        await agreeWithReference({ store: opened.store.store, time: opened.time }, given);
      }),
      { numRuns: isLong ? 3_000 : 150 },
    );
  });

  it('in Redis', async () => {
    await using opened = await openRedisStore(0);
    await fc.assert(
      fc.asyncProperty(plan, (given) => agreeWithReference({ store: opened.store.store, time: opened.time }, given)),
      { numRuns: isLong ? 1_000 : 50 },
    );
  });
});

describe('a budget whose requests reserve what they can cost', () => {
  const asked = fc.array(fc.record({ cost: fc.integer({ min: 1, max: 250 }), endsFirst: fc.boolean() }), {
    minLength: 1,
    maxLength: 30,
  });

  /**
   * Each request costs what it reserved, and ends before the next one or when one is refused. A
   * refused one is repeated at the time that its refusal names.
   */
  async function spendBudget({ store, time }: Opened, requests: Iterable<{ cost: number; endsFirst: boolean }>) {
    const terms = { key: randomUUID(), limits: messageOf({ budget: { amount: 100, period: 'month' } }) };
    const localDay = localDayOf(time.nowMs);
    const costKind = CostKind.REQUEST_AND_TOKENS;
    const running = new Map<string, number>();
    let spent = 0;
    const endAll = async () => {
      for (const [requestId, costMicros] of running) {
        await store.settle({ ...terms, requestId, localDay, tokens: 0, costMicros, ended: true });
        spent += costMicros;
      }
      running.clear();
    };
    const refusalOf = async (requestId: string, costMicros: number) =>
      (await store.admit({ ...terms, requestId, costKind })).refusal ??
      (await store.reserve({ ...terms, requestId, localDay, costMicros }));
    for (const [n, { cost, endsFirst }] of [...requests].entries()) {
      if (endsFirst) await endAll();
      const refusal = await refusalOf(`r${n}`, cost);
      if (refusal !== undefined) {
        expect(refusal.budget).toMatchObject({ amountMicros: 100, spentMicros: spent });
        if (spent >= 100) continue;
        await endAll();
        time.setMs(refusal.retryAtMs ?? expect.fail());
        const again = await refusalOf(`again${n}`, cost);
        expect(again === undefined).toBe(spent < 100);
        if (again === undefined) running.set(`again${n}`, cost);
      } else running.set(`r${n}`, cost);
    }
    await endAll();
    return spent;
  }

  const holds = async (opened: Opened, requests: readonly { cost: number; endsFirst: boolean }[]) => {
    opened.time.setMs(startOfLocalDayMs('2026-11-20'));
    const spent = await spendBudget(opened, requests);
    const [dearest, sum] = [
      Math.max(...requests.map(({ cost }) => cost)),
      requests.reduce((all, { cost }) => all + cost, 0),
    ];
    expect(spent).toBeLessThan(100 + dearest);
    expect(spent).toBeGreaterThanOrEqual(Math.min(100, sum));
  };

  it('is spent to its end, and crossed by one request at most, in memory', async () => {
    await fc.assert(
      fc.asyncProperty(asked, async (requests) => {
        await using opened = await openMemoryStore(0);
        await holds({ store: opened.store.store, time: opened.time }, requests);
      }),
      { numRuns: isLong ? 3_000 : 300 },
    );
  });

  it('is spent to its end, and crossed by one request at most, in Redis', async () => {
    await using opened = await openRedisStore(0);
    await fc.assert(
      fc.asyncProperty(asked, (requests) => holds({ store: opened.store.store, time: opened.time }, requests)),
      { numRuns: isLong ? 1_000 : 50 },
    );
  });
});

describe('a refused request of a group', () => {
  const moreSteps = fc.array(fc.record({ ...request, cost: fc.nat(40) }), { minLength: 1, maxLength: 12 });

  it('is admitted at the time that it is told to retry at, if all others have ended', async () => {
    await fc.assert(
      fc.asyncProperty(startMs, limits, limits, moreSteps, async (atMs, ofKey, ofGroup, asked) => {
        await using opened = await openMemoryStore(atMs);
        const { time } = opened;
        const { store } = opened.store;
        const terms = { key: 'a', limits: messageOf(ofKey), group: { key: 'g', limits: messageOf(ofGroup) } };
        const costKind = CostKind.REQUEST_AND_TOKENS;
        for (const { requestId, cost } of asked) {
          const localDay = localDayOf(time.nowMs);
          const { refusal } = await store.admit({ ...terms, requestId, costKind });
          const retryAtMs = refusal?.retryAtMs;
          if (retryAtMs === undefined) {
            await store.reserve({ ...terms, requestId, localDay, costMicros: cost });
            await store.settle({
              ...terms,
              requestId,
              localDay,
              tokens: cost,
              costMicros: cost,
              ended: cost % 2 === 0,
            });
            time.advanceMs(cost * 100);
            continue;
          }
          for (const other of asked)
            await store.settle({ ...terms, requestId: other.requestId, localDay, tokens: 0, ended: true });
          time.setMs(retryAtMs);
          const hasZero = subjectsOf(terms).some(({ limits: each }) => isNothing(each));
          const again = await store.admit({ ...terms, requestId: 'again', costKind });
          if (!hasZero) expect(again.refusal).toBeUndefined();
          return;
        }
      }),
      { numRuns: isLong ? 3_000 : 500 },
    );
  });
});

function isNothing(limits: Check['limits'] = {}): boolean {
  const { requestsPerMinute, tokensPerDay, concurrentRequests, budget } = limits;
  return [requestsPerMinute, tokensPerDay, concurrentRequests, budget?.amountMicros].includes(0);
}
