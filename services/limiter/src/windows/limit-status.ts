import type { LocalDay } from '@gateway/time';
import { daySpanOf } from './day-budget.ts';
import { decide, type Refusal } from './decide.ts';
import type { KeyFacts } from './key-facts.ts';
import type { CostKind, Limits } from './limits.ts';
import { WINDOW_MS, type WindowFacts } from './minute-window.ts';

/** The sliding window, as it stands after the call. */
export interface RequestWindow {
  readonly limit: number;
  readonly remaining: number;
  /** When the newest entry is 60 seconds old; now, when the window is empty. */
  readonly emptyAtMs: number;
  /** When the next request can be admitted; now, when one can be already; undefined when the limit is 0. */
  readonly nextSlotAtMs: number | undefined;
  /** When the next slot frees, also while others are free; now, when the window is empty; 60 s from now with a limit of 0. */
  readonly resetsAtMs: number;
}

/** The day budget, as it stood before the request. */
export interface TokenBudget {
  readonly limit: number;
  /** 0 when overspent. */
  readonly remaining: number;
  /** The coming local midnight. */
  readonly resetsAtMs: number;
}

export interface LimitStatus {
  readonly requests: RequestWindow | undefined;
  readonly tokens: TokenBudget | undefined;
  readonly localDay: LocalDay;
  /** True when the shared store could not be asked. */
  readonly degraded: boolean;
}

export type Decision =
  | { readonly kind: 'admitted'; readonly status: LimitStatus }
  | { readonly kind: 'refused'; readonly status: LimitStatus; readonly refusal: Refusal };

/** The answer to a request that was admitted. `facts` are those after it took its slot. */
export function admittedWith(limits: Limits, facts: KeyFacts): Decision {
  return { kind: 'admitted', status: statusOf(limits, facts) };
}

/** The answer to a request that the facts refuse. */
export function refusedWith(limits: Limits, costKind: CostKind, facts: KeyFacts): Decision {
  const refusal = decide({ limits, costKind, facts });
  if (refusal === undefined) throw new Error('a store refused a request that the limits admit');
  return { kind: 'refused', status: statusOf(limits, facts), refusal };
}

export function statusOf(limits: Limits, facts: KeyFacts): LimitStatus {
  return {
    requests: requestWindow(limits.requestsPerMinute, facts),
    tokens: tokenBudget(limits.tokensPerDay, facts),
    localDay: facts.localDay,
    degraded: false,
  };
}

function requestWindow(limit: number | undefined, { nowMs, requests }: KeyFacts): RequestWindow | undefined {
  if (limit === undefined) return undefined;
  return {
    limit,
    remaining: Math.max(0, limit - requests.count),
    emptyAtMs: requests.newestMs === undefined ? nowMs : requests.newestMs + WINDOW_MS,
    nextSlotAtMs: nextSlotAtMs(limit, nowMs, requests),
    resetsAtMs: resetsAtMs(limit, nowMs, requests),
  };
}

function nextSlotAtMs(limit: number, nowMs: number, { count, freeingMs = nowMs }: WindowFacts): number | undefined {
  if (limit === 0) return undefined;
  return count < limit ? nowMs : freeingMs + WINDOW_MS;
}

function resetsAtMs(limit: number, nowMs: number, { freeingMs }: WindowFacts): number {
  if (limit === 0) return nowMs + WINDOW_MS;
  return freeingMs === undefined ? nowMs : freeingMs + WINDOW_MS;
}

function tokenBudget(limit: number | undefined, { localDay, usedTokens }: KeyFacts): TokenBudget | undefined {
  if (limit === undefined) return undefined;
  return { limit, remaining: Math.max(0, limit - usedTokens), resetsAtMs: daySpanOf(localDay).endMs };
}
