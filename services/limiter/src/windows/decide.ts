import type { LimitName } from '@gateway/errors';
import { addLocalDays, endOfLocalDayMs, type LocalDay, localDayOf } from '@gateway/time';

/** Length of the sliding window. An entry of the instant t leaves at exactly t + 60 000 ms. */
export const WINDOW_MS = 60_000;

/** What a decision needs to know of a window. */
export interface WindowFacts {
  /** Entries in the window. */
  readonly count: number;
  /** Instant of the newest entry; undefined when the window is empty. */
  readonly newestMs: number | undefined;
  /**
   * Instant of the entry whose leaving frees the next slot: the oldest, or a later one when the limit was lowered below the
   * count. Undefined when the window is empty or the limit is 0.
   */
  readonly freeingMs: number | undefined;
}

export const emptyWindow: WindowFacts = { count: 0, newestMs: undefined, freeingMs: undefined };

/** A request that took its slot so many milliseconds ago. */
export interface RecordedAdmission {
  readonly requestId: string;
  readonly ageMs: number;
}

/** The limits of one key. They travel with every call. @see spec "Token limits" */
export interface Limits {
  /** Admissions in any 60 seconds. Undefined: not limited; 0: nothing is admitted. */
  readonly requestsPerMinute: number | undefined;
  /** Tokens per local day. Undefined: not limited; 0: nothing is admitted. */
  readonly tokensPerDay: number | undefined;
}

/** Which limits can refuse a request; `request_only` is reported the day budget but never refused by it. */
export type CostKind = 'request_and_tokens' | 'request_only';

export interface Question {
  readonly limits: Limits;
  readonly costKind: CostKind;
}

/** What a store knows of a key at one instant. Everything that callers are answered follows from it. */
export interface KeyFacts {
  /** The store's time, never before the newest entry. */
  readonly nowMs: number;
  /** The local day of the store's clock. */
  readonly localDay: LocalDay;
  readonly requests: WindowFacts;
  /** Tokens that the key used on that day. */
  readonly usedTokens: number;
}

export type Decision =
  | { readonly kind: 'admitted'; readonly status: LimitStatus }
  | { readonly kind: 'refused'; readonly status: LimitStatus; readonly refusal: Refusal };

export interface Refusal {
  /** The limit that was hit; of two, the one that frees later. */
  readonly limit: LimitName;
  /** When the same request can be admitted. A limit of 0 admits nothing then either. */
  readonly retryAtMs: number;
}

export interface LimitStatus {
  readonly requests: RequestWindow | undefined;
  readonly tokens: TokenBudget | undefined;
  readonly localDay: LocalDay;
  /** True when the shared store could not be asked. */
  readonly degraded: boolean;
}

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

/** The answer to a request. `isAdmitted`: it has its slot already, and the facts are those after it took it. */
export function decisionOf(question: Question, facts: KeyFacts, isAdmitted = false): Decision {
  const refusal = isAdmitted ? undefined : refusalOf(question, facts);
  const status = statusOf(question.limits, facts);
  return refusal === undefined ? { kind: 'admitted', status } : { kind: 'refused', status, refusal };
}

/** Both limits in one decision: undefined when the request is admitted. @see spec "429 responses" */
export function refusalOf(question: Question, facts: KeyFacts): Refusal | undefined {
  const byWindow = refusedByWindow(question, facts);
  const byBudget = refusedByBudget(question, facts);
  if (byWindow === undefined || byBudget === undefined) return byWindow ?? byBudget;
  // A client that obeys the earlier moment would only be refused again.
  return byBudget.retryAtMs > byWindow.retryAtMs ? byBudget : byWindow;
}

export function isUnlimited({ requestsPerMinute, tokensPerDay }: Limits): boolean {
  return requestsPerMinute === undefined && tokensPerDay === undefined;
}

/** From when on nothing is kept of a day: requests that were admitted before its midnight may end hours later. */
export function dayForgottenAtMs(day: LocalDay): number {
  return endOfLocalDayMs(day) + 6 * 3_600_000;
}

/** Whether tokens of that day still matter (`open`), can't limit anything any more (`over`), or can't exist yet. */
export function dayState(day: LocalDay, nowMs: number): 'open' | 'over' | 'future' {
  // A caller's clock may run ahead of ours across midnight: tomorrow is taken.
  if (day > addLocalDays(localDayOf(nowMs), 1)) return 'future';
  return nowMs < dayForgottenAtMs(day) ? 'open' : 'over';
}

function refusedByWindow({ limits }: Question, { nowMs, requests }: KeyFacts): Refusal | undefined {
  if (limits.requestsPerMinute === undefined || requests.count < limits.requestsPerMinute) return undefined;
  return { limit: 'requests_per_minute', retryAtMs: (requests.freeingMs ?? nowMs) + WINDOW_MS };
}

function refusedByBudget({ limits, costKind }: Question, { usedTokens, localDay }: KeyFacts): Refusal | undefined {
  if (costKind === 'request_only' || limits.tokensPerDay === undefined) return undefined;
  if (usedTokens < limits.tokensPerDay) return undefined;
  return { limit: 'tokens_per_day', retryAtMs: endOfLocalDayMs(localDay) };
}

function statusOf({ requestsPerMinute, tokensPerDay }: Limits, facts: KeyFacts): LimitStatus {
  return {
    requests: requestsPerMinute === undefined ? undefined : requestWindow(requestsPerMinute, facts),
    tokens: tokensPerDay === undefined ? undefined : tokenBudget(tokensPerDay, facts),
    localDay: facts.localDay,
    degraded: false,
  };
}

function requestWindow(limit: number, { nowMs, requests: { count, newestMs, freeingMs } }: KeyFacts): RequestWindow {
  const freeAtMs = (enteredMs: number | undefined) => (enteredMs === undefined ? nowMs : enteredMs + WINDOW_MS);
  const nextSlotAtMs = count < limit ? nowMs : freeAtMs(freeingMs);
  return {
    limit,
    remaining: Math.max(0, limit - count),
    emptyAtMs: freeAtMs(newestMs),
    nextSlotAtMs: limit === 0 ? undefined : nextSlotAtMs,
    resetsAtMs: limit === 0 ? nowMs + WINDOW_MS : freeAtMs(freeingMs),
  };
}

function tokenBudget(limit: number, { localDay, usedTokens }: KeyFacts): TokenBudget {
  return { limit, remaining: Math.max(0, limit - usedTokens), resetsAtMs: endOfLocalDayMs(localDay) };
}
