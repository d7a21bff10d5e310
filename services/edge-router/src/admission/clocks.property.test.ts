import { create } from '@bufbuild/protobuf';
import { MemoryLimitStore } from '@gateway/limits';
import { TokenKind, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod, CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import { ManualTime } from '@gateway/time/simulated';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderError } from '../errors/render-error.ts';
import { admit, limiterTerms } from './admit.ts';

/** Two minutes before midnight in Amsterdam, at the end of a month. */
const startMs = Date.parse('2026-11-30T22:58:00Z');
const minuteMs = 60_000;
const pricing = { prices: { currency: 'EUR' } };

const limits = fc.oneof(
  fc.record({ requestsPerMinute: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ tokensPerDay: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ requestsPerMinute: fc.integer({ min: 1, max: 3 }), tokensPerDay: fc.integer({ min: 1, max: 3 }) }),
);
const budget = fc.record({
  amountMicros: fc.integer({ min: 1, max: 3 }),
  period: fc.constantFrom(BudgetPeriod.DAY, BudgetPeriod.WEEK, BudgetPeriod.MONTH),
});
const world = fc.record({
  limits,
  groupLimits: fc.option(fc.oneof(limits, fc.record({ budget }))),
  /** By how much the clock of the edge is ahead of the store's. */
  aheadMs: fc.integer({ min: -10 * minuteMs, max: 10 * minuteMs }),
  /** How long the store's decision takes to reach the edge, and the edge's answer the client. */
  delayMs: fc.integer({ min: 0, max: 2_000 }),
  /** When requests are sent, and whether the store's clock steps back before one. */
  pausesMs: fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 8 }),
  stepsBackMs: fc.option(fc.integer({ min: 1, max: 30_000 })),
});

describe('a client that waits as told, by an edge whose clock differs from the store’s', () => {
  it('is admitted at its next try, and is told no instant that has passed by the header date', async () => {
    await fc.assert(
      fc.asyncProperty(world, async ({ limits, groupLimits, aheadMs, delayMs, pausesMs, stepsBackMs }) => {
        using time = new ManualTime(startMs);
        let edgeAheadMs = aheadMs;
        const store = new MemoryLimitStore({ maxKeys: 10 });
        const group = groupLimits === null ? undefined : { groupId: 'g', name: 'g', limits: groupLimits };
        const token = create(TokenSchema, { tokenId: 't', kind: TokenKind.SERVICE, limits, ...(group && { group }) });
        const limiter = {
          async admit(check: Parameters<MemoryLimitStore['admit']>[0]) {
            const decision = await time.ahead(0, () => store.admit(check));
            time.advanceMs(delayMs);
            return decision;
          },
        };
        const ask = (requestId: string) =>
          time.ahead(edgeAheadMs, () => admit(requestId, token, CostKind.REQUEST_AND_TOKENS, { limiter, pricing }));

        for (const [n, pauseMs] of pausesMs.entries()) {
          time.advanceMs(pauseMs);
          if (n === 1 && stepsBackMs !== null) {
            time.advanceMs(-stepsBackMs);
            edgeAheadMs += stepsBackMs;
          }
          const first = await ask(`r${n}`);
          const admission = first.refusal === undefined ? first : await retried(first.refusal, n);
          expect(admission.refusal).toBeUndefined();
          await store.settle({
            ...limiterTerms(token),
            requestId: `r${n}`,
            localDay: admission.localDay,
            tokens: 1,
            costMicros: 1,
          });
        }

        async function retried(refusal: NonNullable<Awaited<ReturnType<typeof ask>>['refusal']>, n: number) {
          const edgeMs = time.nowMs + edgeAheadMs;
          const { headers, body } = renderError(refusal, 'chat', edgeMs);
          const waitMs = Number(headers['retry-after']) * 1_000;
          const shownMs = Date.parse(JSON.parse(body).error.retryAt) - edgeMs;
          // By the header `date`, which is exact to the second, the instant is the same wait.
          expect(shownMs).toBeGreaterThan(waitMs - 1_000 - delayMs);
          expect(shownMs).toBeLessThanOrEqual(waitMs);
          time.advanceMs(waitMs);
          return ask(`r${n}`);
        }
      }),
    );
  });
});
