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

/** Length of the sliding window. An entry of the instant t leaves at exactly t + 60 000 ms. */
export const WINDOW_MS = 60_000;

/** A request to be held to limits. Without a request id both limits are only read: nothing is refused, and nothing changes. */
export type Check = Pick<AdmitRequest, 'key' | 'requestId' | 'costKind'> & {
  readonly limits?: Pick<Limits, 'requestsPerMinute' | 'tokensPerDay'>;
  /** Whether the day's total must have been loaded from a ledger first. Else it counts from zero until it was. */
  readonly hasLedger?: boolean;
};

/** Admitted, unless there is a refusal. */
export type Decision = Pick<AdmitResponse, 'status' | 'refusal'> & {
  /** Nothing was decided: a day budget can't be judged before the total of `status.localDay` is loaded. */
  readonly needsDayTotal?: boolean;
};

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

/** The answer to a request. `isAdmitted`: it has its slot already, and the facts are those after it took it. */
export function decisionOf(check: Check, facts: KeyFacts, isAdmitted = false): Decision {
  const { requestsPerMinute, tokensPerDay } = check.limits ?? {};
  const status = create(LimitStatusSchema, {
    localDay: facts.localDay,
    requests: requestsPerMinute === undefined ? undefined : requestWindow(requestsPerMinute, facts),
    tokens: tokensPerDay === undefined ? undefined : tokenBudget(tokensPerDay, facts),
  });
  return { status, refusal: isAdmitted ? undefined : refusalOf(check, facts) };
}

/** The answer to a check whose day budget can't be judged yet. */
export function undecided(localDay: LocalDay): Decision {
  return { status: create(LimitStatusSchema, { localDay }), needsDayTotal: true };
}

/** Both limits in one decision: undefined when the request is admitted. @see spec "429 responses" */
export function refusalOf({ limits = {}, costKind }: Check, facts: KeyFacts): Refusal | undefined {
  const { nowMs, localDay, requests, usedTokens } = facts;
  const { requestsPerMinute = Infinity, tokensPerDay = Infinity } = limits;
  const windowFreeMs = requests.count < requestsPerMinute ? -Infinity : (requests.freeingMs ?? nowMs) + WINDOW_MS;
  const isInBudget = costKind === CostKind.REQUEST_ONLY || usedTokens < tokensPerDay;
  const budgetFreeMs = isInBudget ? -Infinity : endOfLocalDayMs(localDay);
  // A client that obeys the earlier moment would only be refused again.
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

/** From when on nothing is kept of a day: requests that were admitted before its midnight may end hours later. */
export function dayForgottenAtMs(day: LocalDay): number {
  return endOfLocalDayMs(day) + 6 * 3_600_000;
}
