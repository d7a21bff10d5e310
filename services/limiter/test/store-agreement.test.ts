import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openMemoryStore, openRedisStore, type StoreUnderTest } from './store-under-test.ts';

const isLong = process.env.FAULTS === 'long';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const day = '2026-11-20';
const maxPendingIds = 3;

const requestId = fc.integer({ min: 0, max: 9 }).map((n) => `request-${n}`);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ verb: fc.constant('admit'), requestId, limit: fc.integer({ min: 0, max: 4 }) }) },
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

/** Executes one step and returns everything that a caller learns from it. */
async function take(one: Step, { store, clock, key }: Omit<StoreUnderTest, keyof AsyncDisposable>): Promise<unknown> {
  switch (one.verb) {
    case 'admit': {
      const limits = { requestsPerMinute: one.limit, tokensPerDay: 40 };
      const costKind = 'request_and_tokens';
      return store.admit({ key, requestId: one.requestId, limits, costKind, hasLedger: false });
    }
    case 'record':
      return store.recordAdmissions(key, [one]);
    case 'settle': {
      const { requestId, tokens, hasLedger } = one;
      return store.settle({ key, requestId, localDay: day, tokens, hasLedger });
    }
    case 'reload': {
      const pendingIds = await store.pendingIds(key, day, 0);
      const { total: totalTokens, ids: includedIds, missingIds, force, isTentative } = one;
      const total = { totalTokens, includedIds, missingIds, force, isTentative };
      return { pendingIds: pendingIds?.toSorted(), reloaded: await store.reloadDay(key, day, total) };
    }
    case 'move clock':
      clock.advanceMs(one.ms);
      return undefined;
  }
}

describe('the limit stores', () => {
  it('answer alike, whatever the clock does, and however much is pending', async () => {
    await using redis = await openRedisStore(noonMs, { maxPendingIds });
    await fc.assert(
      fc.asyncProperty(schedule, async (steps) => {
        await using memory = await openMemoryStore(noonMs, { maxPendingIds });
        redis.clock.setMs(noonMs);
        const key = `agreement:${randomUUID()}`;
        for (const one of steps) {
          const { store, clock } = redis;
          expect(await take(one, { store, clock, key })).toEqual(await take(one, { ...memory, key }));
        }
      }),
      { numRuns: isLong ? 1_500 : 200 },
    );
  });
});
