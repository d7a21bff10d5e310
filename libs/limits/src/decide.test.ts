import { BudgetPeriod, CostKind, LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { describe, expect, it } from 'vitest';
import { dayForgottenAtMs, decisionOf, refusalOf } from './decide.ts';
import type { Check, KeyLimits } from './limited-key.ts';
import { hasRoom, type MeterState, metersOf, reservedMetersOf, type Taken } from './meter.ts';
import { MinuteWindow } from './minute-window.ts';
import { daySpan } from './span.ts';

const nowMs = Date.parse('2026-11-20T12:00:00Z');
const midnightMs = Date.parse('2026-11-20T23:00:00Z');

interface Situation {
  readonly requestsPerMinute?: number;
  readonly tokensPerDay?: number;
  /** Age of each entry in the window, the oldest first. */
  readonly agesMs?: readonly number[];
  readonly usedTokens?: number;
  readonly costKind?: CostKind;
  readonly at?: number;
}

function decideIn({ requestsPerMinute, tokensPerDay, agesMs = [], usedTokens = 0, costKind, at = nowMs }: Situation) {
  const limits = { requestsPerMinute, tokensPerDay };
  const meters = metersOf({ ...check, limits, costKind: costKind ?? CostKind.UNSPECIFIED });
  const window = windowOf(agesMs, requestsPerMinute ?? 0, at);
  const states = meters.map(({ kind }) => (kind === 'window' ? window : { used: usedTokens, reserved: 0 }));
  const refusal = refusalOf(meters, taken(states, at));
  return refusal && { limit: refusal.limit, retryAtMs: refusal.retryAtMs };
}

const check: Check = { key: 'k', requestId: 'r', costKind: CostKind.REQUEST_AND_TOKENS };

function windowOf(agesMs: readonly number[], limit: number, at = nowMs): MeterState {
  const window = new MinuteWindow();
  for (const ageMs of agesMs) window.take(`${ageMs} ms old`, at - ageMs);
  return window.state(limit);
}

function taken(states: readonly MeterState[], at = nowMs, isTaken = false): Taken {
  return { nowMs: at, localDay: '2026-11-20', isTaken, states, unloaded: [] };
}

describe('the decision on both limits', () => {
  it('admits while both limits have room', () => {
    expect(decideIn({ requestsPerMinute: 2, agesMs: [10_000], tokensPerDay: 100, usedTokens: 99 })).toBeUndefined();
  });

  it('names the window, until its oldest entry leaves', () => {
    expect(decideIn({ requestsPerMinute: 2, agesMs: [40_000, 10_000] })).toEqual({
      limit: LimitName.REQUESTS_PER_MINUTE,
      retryAtMs: nowMs + 20_000,
    });
  });

  it('waits, after the limit was lowered, for the entry whose leaving frees a slot', () => {
    expect(decideIn({ requestsPerMinute: 2, agesMs: [50_000, 40_000, 30_000, 10_000] })?.retryAtMs).toBe(
      nowMs + 30_000,
    );
  });

  it('names the day budget, until midnight, once it is used up', () => {
    expect(decideIn({ tokensPerDay: 100, usedTokens: 100 })).toEqual({
      limit: LimitName.TOKENS_PER_DAY,
      retryAtMs: midnightMs,
    });
  });

  it('never refuses a request that costs no tokens by the day budget', () => {
    expect(decideIn({ tokensPerDay: 100, usedTokens: 500, costKind: CostKind.REQUEST_ONLY })).toBeUndefined();
    expect(
      decideIn({ requestsPerMinute: 1, agesMs: [0], tokensPerDay: 1, usedTokens: 5, costKind: CostKind.REQUEST_ONLY })
        ?.limit,
    ).toBe(LimitName.REQUESTS_PER_MINUTE);
  });

  it('names of both limits the one that frees later', () => {
    const both = { requestsPerMinute: 1, tokensPerDay: 100, usedTokens: 100 };
    expect(decideIn({ ...both, agesMs: [0] })?.limit).toBe(LimitName.TOKENS_PER_DAY);
    expect(decideIn({ ...both, agesMs: [0], at: midnightMs - 1_000 })).toEqual({
      limit: LimitName.REQUESTS_PER_MINUTE,
      retryAtMs: midnightMs + 59_000,
    });
  });

  it('names the window when both free at the same instant', () => {
    const both = { requestsPerMinute: 1, tokensPerDay: 100, usedTokens: 100 };
    expect(decideIn({ ...both, agesMs: [0], at: midnightMs - 60_000 })).toEqual({
      limit: LimitName.REQUESTS_PER_MINUTE,
      retryAtMs: midnightMs,
    });
  });

  it('refuses everything at a limit of 0: requests for 60 seconds, tokens until midnight', () => {
    const inAMinute = { limit: LimitName.REQUESTS_PER_MINUTE, retryAtMs: nowMs + 60_000 };
    expect(decideIn({ requestsPerMinute: 0 })).toEqual(inAMinute);
    expect(decideIn({ requestsPerMinute: 0, agesMs: [50_000] })).toEqual(inAMinute);
    expect(decideIn({ tokensPerDay: 0 })).toEqual({ limit: LimitName.TOKENS_PER_DAY, retryAtMs: midnightMs });
    expect(decideIn({ requestsPerMinute: 0, tokensPerDay: 0 })?.limit).toBe(LimitName.TOKENS_PER_DAY);
    expect(decideIn({ tokensPerDay: 0, costKind: CostKind.REQUEST_ONLY })).toBeUndefined();
  });
});

describe('the answer to a request', () => {
  const statusOf = (limits: KeyLimits | undefined, ...states: readonly MeterState[]) => {
    const { status } = decisionOf(check, metersOf({ ...check, limits }), taken(states, nowMs, true));
    const { requests, tokens } = status ?? {};
    const { emptyAtMs, nextSlotAtMs, resetsAtMs } = requests ?? {};
    return {
      requests: requests && {
        limit: requests.limit,
        remaining: requests.remaining,
        emptyAtMs,
        nextSlotAtMs,
        resetsAtMs,
      },
      tokens: tokens && { limit: tokens.limit, remaining: tokens.remaining, resetsAtMs: tokens.resetsAtMs },
      localDay: status?.localDay,
    };
  };
  const used = (tokens: number): MeterState => ({ used: tokens, reserved: 0 });

  it('shows the limits that are set, and no others', () => {
    const day = { localDay: '2026-11-20' };
    const requests = { limit: 2, remaining: 2, emptyAtMs: nowMs, nextSlotAtMs: nowMs, resetsAtMs: nowMs };
    const tokens = { limit: 100, remaining: 100, resetsAtMs: midnightMs };
    expect(statusOf(undefined)).toEqual({ ...day, requests: undefined, tokens: undefined });
    expect(statusOf({ requestsPerMinute: 2 }, windowOf([], 2))).toEqual({ ...day, requests, tokens: undefined });
    expect(statusOf({ tokensPerDay: 100 }, used(0))).toEqual({ ...day, requests: undefined, tokens });
  });

  it('shows when a slot frees, when all do, and no slot at a limit of 0', () => {
    const window = (ages: readonly number[], limit: number) =>
      statusOf({ requestsPerMinute: limit }, windowOf(ages, limit)).requests;
    expect(window([40_000, 10_000], 3)).toEqual({
      ...{ limit: 3, remaining: 1, emptyAtMs: nowMs + 50_000 },
      ...{ nextSlotAtMs: nowMs, resetsAtMs: nowMs + 20_000 },
    });
    expect(window([40_000, 10_000], 1)).toEqual({
      ...{ limit: 1, remaining: 0, emptyAtMs: nowMs + 50_000 },
      ...{ nextSlotAtMs: nowMs + 50_000, resetsAtMs: nowMs + 50_000 },
    });
    expect(window([40_000], 0)).toEqual({
      ...{ limit: 0, remaining: 0, emptyAtMs: nowMs + 20_000 },
      ...{ nextSlotAtMs: undefined, resetsAtMs: nowMs + 60_000 },
    });
  });

  it('has nothing left of a day budget that is overdrawn', () => {
    for (const [tokens, remaining] of [
      [99, 1],
      [100, 0],
      [101, 0],
    ] as const)
      expect(statusOf({ tokensPerDay: 100 }, used(tokens)).tokens?.remaining).toBe(remaining);
  });

  it('refuses no request that already has its slot', () => {
    const meters = metersOf({ ...check, limits: { requestsPerMinute: 1 } });
    const states = [windowOf([0], 1)];
    expect(decisionOf(check, meters, taken(states)).refusal).toBeDefined();
    expect(decisionOf(check, meters, taken(states, nowMs, true)).refusal).toBeUndefined();
  });

  it('names only the day while the total of that is missing', () => {
    const unloaded = [{ key: 'k', span: daySpan('2026-11-20') }];
    const decision = decisionOf(check, metersOf({ ...check, limits: { tokensPerDay: 9 } }), { ...taken([]), unloaded });
    expect(decision).toMatchObject({ status: { localDay: '2026-11-20' }, unloaded });
  });

  it('shows the limits of the group apart, also of one that is known without any', () => {
    const group = { key: 'g', limits: { requestsPerMinute: 3 } };
    const ofBoth = { ...check, limits: { requestsPerMinute: 2 }, group };
    const states = [windowOf([0], 2), windowOf([0], 3)];
    const decision = decisionOf(ofBoth, metersOf(ofBoth), taken(states, nowMs, true));
    expect([decision.status?.requests?.remaining, decision.groupStatus?.requests?.remaining]).toEqual([1, 2]);
    const without = decisionOf({ group: { key: 'g' } }, [], taken([], nowMs, true));
    expect(without.groupStatus).toMatchObject({ localDay: '2026-11-20' });
    expect(without.groupStatus?.requests).toBeUndefined();
  });
});

describe('the decision on a budget', () => {
  const budget = { amountMicros: 100, period: BudgetPeriod.DAY };
  const told = (refusal: ReturnType<typeof refusalOf>) => refusal && [refusal.limit, refusal.retryAtMs];
  const soon = [LimitName.BUDGET, nowMs + 1_000];
  const tomorrow = [LimitName.BUDGET, midnightMs];

  it('lets a request begin until all is spent or reserved, and says when there may be money again', () => {
    const decide = (used: number, reserved: number, costKind = CostKind.REQUEST_AND_TOKENS) =>
      told(refusalOf(metersOf({ ...check, costKind, limits: { budget } }), taken([{ used, reserved }])));
    expect([decide(0, 0), decide(60, 39), decide(99, 0)]).toEqual([undefined, undefined, undefined]);
    expect([decide(60, 40), decide(0, 100), decide(99, 5)]).toEqual([soon, soon, soon]);
    expect([decide(100, 0), decide(101, 7)]).toEqual([tomorrow, tomorrow]);
    expect(decide(100, 0, CostKind.REQUEST_ONLY)).toBeUndefined();
  });

  const reserving = (costMicros: number, limits: KeyLimits = { budget }) =>
    reservedMetersOf({ key: 'k', requestId: 'r', localDay: '2026-11-20', costMicros, limits });
  const reserve = (costMicros: number, used = 0, reserved = 0, amountMicros = 100, at = nowMs) =>
    refusalOf(reserving(costMicros, { budget: { ...budget, amountMicros } }), taken([{ used, reserved }], at));

  it('reserves a cost that fits to the last millionth, and says when one that does not may fit', () => {
    expect([reserve(100), reserve(20, 50, 30)]).toEqual([undefined, undefined]);
    expect([reserve(21, 50, 30), reserve(50, 50, 30)].map(told)).toEqual([soon, soon]);
    expect([reserve(101, 0, 1), reserve(1, 99, 1)].map(told)).toEqual([soon, soon]);
    expect([reserve(1, 100), reserve(1, 100, 7)].map(told)).toEqual([tomorrow, tomorrow]);
    expect(reserving(1e9, { requestsPerMinute: 1 })).toEqual([]);
  });

  it('lets a request that alone does not fit cross a budget, if nothing else is reserved', () => {
    expect([reserve(101, 0), reserve(2, 99), reserve(1e9, 99)]).toEqual([undefined, undefined, undefined]);
    expect([reserve(1, 100), reserve(1, 0, 0, 0)].map(told)).toEqual([tomorrow, tomorrow]);
  });

  it('says what is spent and reserved of a budget that refused', () => {
    expect(reserve(50, 60, 7)?.budget).toMatchObject({ amountMicros: 100, spentMicros: 60, reservedMicros: 7 });
  });

  it('names no time that has passed, of a budget whose period ended since the admission', () => {
    expect(told(reserve(1, 100, 0, 100, midnightMs))).toEqual([LimitName.BUDGET, midnightMs + 1_000]);
  });

  it('refuses while what was spent is unknown, and shows nothing of it', () => {
    const [meter] = reserving(1);
    const unknown = { used: 0, reserved: 0, isUnknown: true };
    expect(meter && hasRoom(meter, unknown)).toBe(false);
    const meters = metersOf({ ...check, limits: { budget } });
    const { refusal, status } = decisionOf(check, meters, taken([unknown]));
    expect([told(refusal), refusal?.budget]).toEqual([[LimitName.BUDGET, nowMs + 3_000], undefined]);
    expect(status?.budget).toBeUndefined();
  });
});

it('a day is forgotten six hours after its midnight', () => {
  expect(dayForgottenAtMs('2026-11-20')).toBe(midnightMs + 6 * 3_600_000);
});
