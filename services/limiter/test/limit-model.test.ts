import { randomUUID } from 'node:crypto';
import { localDayOf, startOfLocalDayMs } from '@gateway/time';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlainCheck as Check, PlainStore } from './plain-store.ts';
import { dayBefore, ReferenceLimiter } from './reference-limiter.ts';
import { openMemoryStore, openRedisStore, type StoreUnderTest } from './store-under-test.ts';

const isLong = process.env.FAULTS === 'long';

const limit = fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined });
const limits = fc.record({
  requestsPerMinute: limit,
  tokensPerDay: fc.option(fc.constantFrom(0, 5, 20), { nil: undefined }),
});
const requestId = fc.integer({ min: 0, max: 9 }).map((n) => `request-${n}`);
const stepMs = fc.oneof(
  fc.constantFrom(0, 1, 30_000, 59_999, 60_000, 60_001),
  fc.integer({ min: 0, max: 70_000 }),
  fc.integer({ min: 0, max: 5 * 3_600_000 }),
);
const check = fc.record({ requestId, limits, costKind: fc.constantFrom('request_and_tokens', 'request_only') });
const step = fc.oneof(
  { weight: 6, arbitrary: check.map((one) => ({ verb: 'admit' as const, ...one })) },
  {
    weight: 3,
    arbitrary: fc.record({ verb: fc.constant('admitAll'), checks: fc.array(check, { minLength: 1, maxLength: 6 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      verb: fc.constant('settleAll'),
      settled: fc.array(fc.record({ requestId, tokens: fc.integer({ min: 0, max: 12 }) }), {
        minLength: 1,
        maxLength: 6,
      }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      verb: fc.constant('settle'),
      requestId,
      tokens: fc.integer({ min: 0, max: 12 }),
      dayBefore: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('peek'), limits }) },
  { weight: 5, arbitrary: fc.record({ verb: fc.constant('advance'), stepMs }) },
);
// Ordinary days, the nights on which clocks change, and the minutes around midnight.
const startMs = fc
  .record({
    day: fc.constantFrom('2026-11-20', '2026-03-29', '2026-10-25', '2026-10-24'),
    offsetMs: fc.oneof(fc.integer({ min: 0, max: 86_400_000 }), fc.integer({ min: -90_000, max: 0 })),
  })
  .map(({ day, offsetMs }) => startOfLocalDayMs(day) + offsetMs);
const schedule = fc.record({ startMs, steps: fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }) });

type Schedule = typeof schedule extends fc.Arbitrary<infer S> ? S : never;

const reading = { requestId: undefined, costKind: 'request_only' } as const;

/** Runs one schedule on the store and the reference side by side. */
async function agreeWithReference(
  { store, time, key }: Omit<StoreUnderTest, keyof AsyncDisposable>,
  { startMs, steps }: Schedule,
) {
  time.setMs(startMs);
  const reference = new ReferenceLimiter();
  const hasLedger = false;
  for (const action of steps) {
    const nowMs = time.nowMs;
    const today = localDayOf(nowMs);
    switch (action.verb) {
      case 'advance':
        time.advanceMs(action.stepMs);
        break;
      case 'admit':
        expectAdmission(await store.admit({ ...action, key, hasLedger }), action, reference, nowMs);
        break;
      case 'admitAll': {
        // Operations on another key in between must change nothing.
        const both = action.checks.flatMap((check) => [
          { ...check, key, hasLedger },
          { ...check, key: `${key}:other`, hasLedger },
        ]);
        const decisions = await Promise.all(both.map((each) => store.admit(each)));
        expect(decisions).toHaveLength(both.length);
        for (const [index, check] of action.checks.entries()) {
          expectAdmission(decisions[2 * index], check, reference, nowMs);
        }
        break;
      }
      case 'settleAll': {
        const totals = await Promise.all(
          action.settled.map((one) => store.settle({ ...one, key, localDay: today, hasLedger })),
        );
        expect(totals.map(({ usedTokens }) => usedTokens)).toEqual(
          action.settled.map(({ requestId, tokens }) => reference.settle(requestId, today, tokens, nowMs)),
        );
        break;
      }
      case 'peek':
        expect(await store.admit({ ...action, ...reading, key, hasLedger })).toMatchObject({
          status: reference.status(action.limits, nowMs),
        });
        break;
      case 'settle': {
        const localDay =
          action.dayBefore && nowMs < startOfLocalDayMs(today) + 6 * 3_600_000 ? dayBefore(today) : today;
        const { usedTokens } = await store.settle({ ...action, key, localDay, hasLedger });
        expect(usedTokens).toBe(reference.settle(action.requestId, localDay, action.tokens, nowMs));
      }
    }
  }
}

function expectAdmission(
  decision: Awaited<ReturnType<PlainStore['admit']>> | undefined,
  { requestId, limits, costKind }: Pick<Check, 'limits' | 'costKind'> & { readonly requestId: string },
  reference: ReferenceLimiter,
  nowMs: number,
) {
  const expected = reference.admit(requestId, limits, costKind, nowMs);
  expect(decision).toMatchObject({ kind: expected.admitted ? 'admitted' : 'refused', status: expected.status });
  if (decision?.kind === 'refused') expect(decision.refusal.retryAtMs).toBe(expected.retryAtMs);
}

describe('a limit store does exactly what the specification words', () => {
  it('in memory', async () => {
    await fc.assert(
      fc.asyncProperty(schedule, async (plan) => {
        await using opened = await openMemoryStore(plan.startMs);
        await agreeWithReference(opened, plan);
      }),
      { numRuns: isLong ? 5_000 : 600 },
    );
  });

  it('in Redis', async () => {
    await using opened = await openRedisStore(0);
    const { store, time } = opened;
    await fc.assert(
      fc.asyncProperty(schedule, (plan) => agreeWithReference({ store, time, key: `model:${randomUUID()}` }, plan)),
      { numRuns: isLong ? 1_500 : 250 },
    );
  });

  it('and so admits at most the limit in any 60 seconds, under a limit that never changes', async () => {
    const rush = fc.record({
      requestsPerMinute: fc.integer({ min: 1, max: 6 }),
      gapsMs: fc.array(fc.integer({ min: 0, max: 25_000 }), { minLength: 1, maxLength: 80, size: 'max' }),
    });
    await fc.assert(
      fc.asyncProperty(rush, async ({ requestsPerMinute, gapsMs }) => {
        await using opened = await openMemoryStore(0);
        const admittedMs: number[] = [];
        for (const [n, gapMs] of gapsMs.entries()) {
          opened.time.advanceMs(gapMs);
          const decision = await opened.store.admit({
            key: opened.key,
            requestId: String(n),
            limits: { requestsPerMinute, tokensPerDay: undefined },
            costKind: 'request_and_tokens',
            hasLedger: false,
          });
          if (decision.kind === 'admitted') admittedMs.push(opened.time.nowMs);
        }
        for (const fromMs of admittedMs) {
          const inMinute = admittedMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + 60_000);
          expect(inMinute.length).toBeLessThanOrEqual(requestsPerMinute);
        }
      }),
      { numRuns: isLong ? 1_000 : 300 },
    );
  });
});
