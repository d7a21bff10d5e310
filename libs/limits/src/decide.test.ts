import { timestampMs } from '@bufbuild/protobuf/wkt';
import { CostKind, LimitName } from '@gateway/proto/limiter/v1/limit_pb.js';
import { describe, expect, it } from 'vitest';
import { type KeyFacts, refusalOf } from './decide.ts';
import { MinuteWindow } from './minute-window.ts';

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
  const window = new MinuteWindow();
  for (const ageMs of agesMs) window.take(`${ageMs} ms old`, at - ageMs);
  const requests = window.facts(requestsPerMinute ?? 0);
  const facts: KeyFacts = { nowMs: at, localDay: '2026-11-20', requests, usedTokens };
  const limits = { requestsPerMinute, tokensPerDay: tokensPerDay === undefined ? undefined : BigInt(tokensPerDay) };
  const refusal = refusalOf({ key: 'k', requestId: 'r', limits, costKind: costKind ?? CostKind.UNSPECIFIED }, facts);
  return refusal && { limit: refusal.limit, retryAtMs: refusal.retryAt && timestampMs(refusal.retryAt) };
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

  it('refuses everything at a limit of 0: requests for 60 seconds, tokens until midnight', () => {
    const inAMinute = { limit: LimitName.REQUESTS_PER_MINUTE, retryAtMs: nowMs + 60_000 };
    expect(decideIn({ requestsPerMinute: 0 })).toEqual(inAMinute);
    expect(decideIn({ requestsPerMinute: 0, agesMs: [50_000] })).toEqual(inAMinute);
    expect(decideIn({ tokensPerDay: 0 })).toEqual({ limit: LimitName.TOKENS_PER_DAY, retryAtMs: midnightMs });
    expect(decideIn({ requestsPerMinute: 0, tokensPerDay: 0 })?.limit).toBe(LimitName.TOKENS_PER_DAY);
    expect(decideIn({ tokensPerDay: 0, costKind: CostKind.REQUEST_ONLY })).toBeUndefined();
  });
});
