import { create } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { CostKind, LimitName, LimitStatusSchema } from '@gateway/proto/limiter/v1/limit_pb.js';
import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { type Check, type Decision, FallbackLimiter } from './fallback-limiter.ts';

const at = Date.parse('2026-11-20T12:00:00Z');
const midnight = Date.parse('2026-11-20T23:00:00Z');
const alone = { replicas: 1, position: 0 };
const today = '2026-11-20';

function setUp() {
  const clock = new ManualClock(at);
  const limiter = new FallbackLimiter(clock);
  let requests = 0;
  const decide = (limits: Check['limits'], place = alone, more: Partial<Check> = {}) => {
    requests += 1;
    const check = { key: 'k', requestId: `r${requests}`, limits, costKind: CostKind.REQUEST_AND_TOKENS, ...more };
    return limiter.decide(check, place);
  };
  return { clock, limiter, decide };
}

const retryAtMs = ({ refusal }: Decision) => refusal?.retryAt && timestampMs(refusal.retryAt);

/** What the limiter answers to a request that it admitted, when so much is left of both limits. */
const admitted = (requests: number, tokens: bigint) => ({
  status: create(LimitStatusSchema, {
    localDay: today,
    requests: { limit: 2, remaining: requests },
    tokens: { limit: 100n, remaining: tokens },
  }),
});

describe('the fallback limiter of an edge', () => {
  const limits = { requestsPerMinute: 2, tokensPerDay: 50n };

  it('admits the limit in any minute and says when the next slot frees', () => {
    const { clock, decide } = setUp();
    expect(decide(limits).status?.requests).toMatchObject({ limit: 2, remaining: 1 });
    clock.advanceMs(10_000);
    expect(decide(limits).refusal).toBeUndefined();
    const refused = decide(limits);
    expect(refused.refusal?.limit).toBe(LimitName.REQUESTS_PER_MINUTE);
    expect(retryAtMs(refused)).toBe(at + 60_000);
    const { emptyAt, resetsAt } = refused.status?.requests ?? {};
    expect([emptyAt, resetsAt].map((instant) => instant && timestampMs(instant))).toEqual([at + 70_000, at + 60_000]);
    clock.setMs(at + 60_000);
    expect(decide(limits).refusal).toBeUndefined();
  });

  it('admits the share of this edge only, and all edges together the limit', () => {
    for (const limit of [1, 2, 5, 60]) {
      const shares = [0, 1, 2].map((position) => {
        const { decide } = setUp();
        const kinds = Array.from({ length: 70 }, () => decide({ requestsPerMinute: limit }, { replicas: 3, position }));
        for (const { status } of kinds) expect(status?.requests?.limit).toBe(limit);
        expect(kinds.at(-1)?.status?.requests?.remaining).toBe(0);
        return kinds.filter(({ refusal }) => refusal === undefined).length;
      });
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(limit);
    }
  });

  it('says to come again in a minute when nothing falls to this edge', () => {
    const { decide } = setUp();
    const refused = decide({ requestsPerMinute: 1 }, { replicas: 2, position: 1 });
    expect(retryAtMs(refused)).toBe(at + 60_000);
  });

  it('goes on from what the limiter admitted through this edge', () => {
    const { clock, limiter, decide } = setUp();
    limiter.noteDecision({ key: 'k' }, admitted(1, 100n));
    clock.advanceMs(10_000);
    expect(decide(limits).status?.requests?.remaining).toBe(0);
    expect(retryAtMs(decide(limits))).toBe(at + 60_000);
  });

  it('goes on from the day budget as it knew it, and from what was used since', () => {
    const { clock, limiter, decide } = setUp();
    const budget = { tokensPerDay: 100n };
    limiter.noteDecision({ key: 'k' }, admitted(1, 60n));
    limiter.noteTotal('k', today, 70);
    // An answer that was overtaken.
    limiter.noteDecision({ key: 'k' }, admitted(1, 60n));
    expect(decide(budget).status?.tokens).toMatchObject({ limit: 100n, remaining: 30n });
    limiter.noteUncharged('k', today, 29);
    expect(decide(budget).refusal).toBeUndefined();
    limiter.noteUncharged('k', today, 5);
    const refused = decide(budget);
    expect(refused.refusal?.limit).toBe(LimitName.TOKENS_PER_DAY);
    expect(retryAtMs(refused)).toBe(midnight);
    expect(decide(budget, alone, { costKind: CostKind.REQUEST_ONLY }).refusal).toBeUndefined();
    clock.setMs(midnight);
    expect(decide(budget).status).toMatchObject({ localDay: '2026-11-21', tokens: { remaining: 100n } });
    limiter.noteUncharged('k', today, 100);
    expect(decide(budget).refusal).toBeUndefined();
  });

  it('does not refuse by a day budget of which it knows nothing', () => {
    const { decide } = setUp();
    const { status, refusal } = decide({ tokensPerDay: 50n });
    expect(refusal).toBeUndefined();
    expect(status).toMatchObject({ degraded: true, localDay: today, tokens: { limit: 50n, remaining: 50n } });
    expect(status?.requests).toBeUndefined();
  });

  it('refuses everything at a limit of 0: requests for 60 seconds, tokens until midnight', () => {
    const { decide } = setUp();
    const none = decide({ requestsPerMinute: 0 });
    expect(none.refusal?.limit).toBe(LimitName.REQUESTS_PER_MINUTE);
    expect(retryAtMs(none)).toBe(at + 60_000);
    expect(none.status?.requests?.nextSlotAt).toBeUndefined();
    expect(retryAtMs(decide({ tokensPerDay: 0n }))).toBe(midnight);
    const both = decide({ requestsPerMinute: 0, tokensPerDay: 0n });
    expect([both.refusal?.limit, retryAtMs(both)]).toEqual([LimitName.TOKENS_PER_DAY, midnight]);
  });

  it('keeps keys apart', () => {
    const { decide } = setUp();
    const one = { requestsPerMinute: 1 };
    expect(decide(one, alone, { key: 'a' }).refusal).toBeUndefined();
    expect(decide(one, alone, { key: 'b' }).refusal).toBeUndefined();
    expect(decide(one, alone, { key: 'a' }).refusal).toBeDefined();
  });

  it('has what it admitted to be handed over, once, for a minute', () => {
    const { clock, limiter, decide } = setUp();
    decide(limits);
    limiter.noteDecision({ key: 'k' }, admitted(1, 100n));
    decide(limits);
    clock.advanceMs(30_000);
    decide({ requestsPerMinute: 5 });
    const waiting = limiter.notHandedOver;
    expect(waiting.map(({ requestId, atMs }) => [requestId, atMs - at])).toEqual([
      ['r1', 0],
      ['r3', 30_000],
    ]);
    decide({ requestsPerMinute: 5 });
    limiter.noteHandedOver(waiting);
    expect(limiter.notHandedOver.map(({ requestId }) => requestId)).toEqual(['r4']);
    clock.advanceMs(60_000);
    expect(limiter.notHandedOver).toEqual([]);
  });
});
