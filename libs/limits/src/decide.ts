import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  CostKind,
  LimitName,
  LimitStatusSchema,
  type Limits,
  type Refusal,
  RefusalSchema,
} from '@gateway/proto/limiter/v1/limit_pb.js';
import type { AdmitRequest, AdmitResponse } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { endOfLocalDayMs, type LocalDay } from '@gateway/time';

/** Length of the sliding window. An entry made at instant t leaves at exactly t + 60,000 ms. */
export const WINDOW_MS = 60_000;

/**
 * A request to check against limits. Without a request id the limits are only read: the check
 * refuses nothing and changes nothing.
 */
export type Check = Pick<AdmitRequest, 'key' | 'requestId' | 'costKind'> & {
  readonly limits?: Pick<Limits, 'requestsPerMinute' | 'tokensPerDay'> | undefined;
  /**
   * Whether the day's total must be loaded from a ledger before a decision. Otherwise the counter
   * starts at zero until a total is loaded.
   */
  readonly hasLedger?: boolean;
};

/** The request is admitted unless there is a refusal. */
export type Decision = Pick<AdmitResponse, 'status' | 'refusal'> & {
  /**
   * Nothing is decided: a day budget can't be checked before the total of `status.localDay` is
   * loaded.
   */
  readonly needsDayTotal?: boolean;
};

/** What a store knows about a key at one instant. Every answer to a caller is derived from it. */
export interface KeyFacts {
  /** The store's time, never before the newest entry. */
  readonly nowMs: number;
  /** The local day by the store's clock. */
  readonly localDay: LocalDay;
  readonly requests: WindowFacts;
  /** Tokens that the key used on that day. */
  readonly usedTokens: number;
}

/** What a decision needs to know about a window. */
export interface WindowFacts {
  /** Entries in the window. */
  readonly count: number;
  /** Instant of the newest entry; undefined when the window is empty. */
  readonly newestMs: number | undefined;
  /**
   * Instant of the entry that frees the next slot when it leaves: the oldest, or a later one when
   * the limit was lowered below the count. Undefined when the window is empty or the limit is 0.
   */
  readonly freeingMs: number | undefined;
}

export const emptyWindow: WindowFacts = { count: 0, newestMs: undefined, freeingMs: undefined };

/**
 * The answer to a request. With `isAdmitted` the request already has its slot, and `facts` include
 * it.
 */
export function decisionOf(check: Check, facts: KeyFacts, isAdmitted = false): Decision {
  const { requestsPerMinute, tokensPerDay } = check.limits ?? {};
  const status = create(LimitStatusSchema, {
    localDay: facts.localDay,
    requests: requestsPerMinute === undefined ? undefined : requestWindow(requestsPerMinute, facts),
    tokens: tokensPerDay === undefined ? undefined : tokenBudget(tokensPerDay, facts),
  });
  return { status, refusal: isAdmitted ? undefined : refusalOf(check, facts) };
}

/** The answer to a check whose day budget can't be decided yet. */
export function undecided(localDay: LocalDay): Decision {
  return { status: create(LimitStatusSchema, { localDay }), needsDayTotal: true };
}

/**
 * Decides both limits at once. Undefined when the request is admitted.
 * @see spec "429 responses"
 */
export function refusalOf({ limits = {}, costKind }: Check, facts: KeyFacts): Refusal | undefined {
  const { nowMs, localDay, requests, usedTokens } = facts;
  const { requestsPerMinute = Infinity, tokensPerDay = Infinity } = limits;
  const windowFreeMs = requests.count < requestsPerMinute ? -Infinity : (requests.freeingMs ?? nowMs) + WINDOW_MS;
  const isInBudget = costKind === CostKind.REQUEST_ONLY || usedTokens < tokensPerDay;
  const budgetFreeMs = isInBudget ? -Infinity : endOfLocalDayMs(localDay);
  // A client that retries at the earlier of the two instants would be refused again.
  const retryAtMs = Math.max(windowFreeMs, budgetFreeMs);
  if (retryAtMs === -Infinity) return undefined;
  const limit = budgetFreeMs > windowFreeMs ? LimitName.TOKENS_PER_DAY : LimitName.REQUESTS_PER_MINUTE;
  return create(RefusalSchema, { limit, retryAt: timestampFromMs(retryAtMs) });
}

function requestWindow(limit: number, { nowMs, requests: { count, newestMs, freeingMs } }: KeyFacts) {
  const freeAt = (enteredMs: number | undefined) =>
    timestampFromMs(enteredMs === undefined ? nowMs : enteredMs + WINDOW_MS);
  const nextSlotAt = count < limit ? timestampFromMs(nowMs) : freeAt(freeingMs);
  return {
    limit,
    remaining: Math.max(0, limit - count),
    emptyAt: freeAt(newestMs),
    nextSlotAt: limit === 0 ? undefined : nextSlotAt,
    resetsAt: limit === 0 ? timestampFromMs(nowMs + WINDOW_MS) : freeAt(freeingMs),
  };
}

function tokenBudget(limit: bigint, { localDay, usedTokens }: KeyFacts) {
  const used = BigInt(usedTokens);
  return { limit, remaining: used < limit ? limit - used : 0n, resetsAt: timestampFromMs(endOfLocalDayMs(localDay)) };
}

/** When data of a day can be dropped: requests admitted before its midnight may end hours later. */
export function dayForgottenAtMs(day: LocalDay): number {
  return endOfLocalDayMs(day) + 6 * 3_600_000;
}
