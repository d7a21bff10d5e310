import { randomUUID } from 'node:crypto';
import { budgetSpan, daySpan, MemoryLimitStore } from '@gateway/limits';
import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PlainStore } from './plain-store.ts';
import { openRedisStore, type StoreUnderTest } from './store-under-test.ts';

const isLong = process.env.FAULTS === 'long';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const day = '2026-11-20';
const maxPendingIds = 3;
const budget = { amountMicros: 40, period: BudgetPeriod.DAY } as const;
const money = budgetSpan(budget.period, day);

const requestId = fc.integer({ min: 0, max: 9 }).map((n) => `request-${n}`);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ verb: fc.constant('admit'), requestId, limit: fc.integer({ min: 0, max: 4 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      verb: fc.constant('pay'),
      requestId: fc.uuid(),
      hasLedger: fc.boolean(),
      isLedgerAway: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant('raise'), total: fc.nat(50), isMoney: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      verb: fc.constant('record'),
      requestId,
      ageMs: fc.nat(70_000),
      isReturned: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ verb: fc.constant('settle'), requestId, tokens: fc.nat(9), hasLedger: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      verb: fc.constant('reload'),
      total: fc.nat(50),
      ids: fc.array(requestId),
      missingIds: fc.array(requestId),
      force: fc.boolean(),
      isTentative: fc.boolean(),
      isMoney: fc.boolean(),
    }),
  },
  {
    weight: 4,
    // A clock that is corrected, that lags after a failover, or that was wrong by an hour.
    arbitrary: fc.record({
      verb: fc.constant('move clock'),
      ms: fc.oneof(fc.integer({ min: 0, max: 70_000 }), fc.constantFrom(-1, -5_000, -60_000, -60_001, -3_600_000)),
    }),
  },
);
const schedule = fc.array(step, { minLength: 1, maxLength: 40, size: 'max' });
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/**
 * Whether a request that was settled may have been forgotten before the clock was set back. Redis
 * forgets for good, at the next settle, what is two minutes old; memory follows the clock as it is.
 */
class ForgottenSettles {
  readonly #settled = new Map<string, { readonly settledMs: number; readonly furthestMs: number }>();

  mayHave(one: Step, nowMs: number): boolean {
    for (const [requestId, { settledMs, furthestMs }] of this.#settled) {
      this.#settled.set(requestId, { settledMs, furthestMs: Math.max(furthestMs, nowMs) });
    }
    if (one.verb !== 'settle' || one.tokens === 0) return false;
    const known = this.#settled.get(one.requestId);
    if (known === undefined || nowMs - known.settledMs >= settledIdMs) {
      this.#settled.set(one.requestId, { settledMs: nowMs, furthestMs: nowMs });
      return false;
    }
    return known.furthestMs - known.settledMs >= settledIdMs;
  }
}

const settledIdMs = 120_000;

/**
 * Requests that returned their slots before the clock was set back. Then the stores need not forget
 * at the same time that they did.
 */
class DoubtfulReturns {
  readonly #returned = new Set<string>();
  readonly #doubtful = new Set<string>();

  has(one: Step): boolean {
    if (one.verb === 'move clock' && one.ms < 0) for (const id of this.#returned) this.#doubtful.add(id);
    if (one.verb !== 'record') return false;
    if (!one.isReturned) return this.#doubtful.has(one.requestId);
    this.#returned.add(one.requestId);
    return false;
  }
}

/** Executes one step and returns everything that a caller learns from it. */
async function take(
  one: Exclude<Step, { verb: 'move clock' }>,
  { store, key }: Pick<StoreUnderTest, 'store' | 'key'>,
): Promise<unknown> {
  switch (one.verb) {
    case 'admit': {
      const limits = { requestsPerMinute: one.limit, tokensPerDay: 40 };
      const costKind = 'request_and_tokens';
      return store.admit({ key, requestId: one.requestId, limits, costKind, hasLedger: false });
    }
    case 'pay': {
      const { requestId, hasLedger, isLedgerAway } = one;
      const terms = { key, requestId, limits: { budget }, hasLedger };
      const reserved = await store.store.reserve({ ...terms, isLedgerAway, localDay: day, costMicros: 50 });
      await store.store.settle({ ...terms, localDay: day, tokens: 0, ended: true });
      return reserved;
    }
    case 'raise':
      return store.store.raise([{ counter: { key, span: one.isMoney ? money : daySpan(day) }, total: one.total }]);
    case 'record':
      return store.recordAdmissions(key, [one]);
    case 'settle': {
      const { requestId, tokens, hasLedger } = one;
      return store.settle({ key, requestId, localDay: day, tokens, hasLedger });
    }
    case 'reload': {
      const counter = { key, span: one.isMoney ? money : daySpan(day) };
      const pendingIds = await store.store.pendingIds(counter, 0);
      const { total: totalTokens, ids: includedIds, missingIds, force, isTentative } = one;
      const total = { totalTokens, includedIds, missingIds, force, isTentative };
      return { pendingIds: pendingIds?.toSorted(), reloaded: await store.store.reload(counter, total) };
    }
  }
}

describe('the limit stores', () => {
  it('answer alike, whatever the clock does, and however much is pending', async () => {
    await using redis = await openRedisStore(noonMs, { maxPendingIds });
    const { store, time } = redis;
    await fc.assert(
      fc.asyncProperty(schedule, async (steps) => {
        const memory = new PlainStore(new MemoryLimitStore({ maxKeys: 1_000, maxPendingIds }));
        time.setMs(noonMs);
        const key = `agreement:${randomUUID()}`;
        const [forgotten, doubtful] = [new ForgottenSettles(), new DoubtfulReturns()];
        for (const one of steps) {
          if (forgotten.mayHave(one, time.nowMs) || doubtful.has(one)) continue;
          if (one.verb === 'move clock') time.advanceMs(one.ms);
          else expect(await take(one, { store, key })).toEqual(await take(one, { store: memory, key }));
        }
      }),
      { numRuns: isLong ? 1_500 : 200 },
    );
  });
});
