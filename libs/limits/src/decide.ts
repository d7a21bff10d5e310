import { create } from '@bufbuild/protobuf';
import {
  type BudgetPeriod,
  type BudgetStatus,
  BudgetStatusSchema,
  ConcurrencySchema,
  CostKind,
  LimitName,
  type LimitStatus,
  LimitStatusSchema,
  type Refusal,
  RefusalSchema,
} from '@gateway/proto/limiter/v2/limit_pb.js';
import type { AdmitRequest, AdmitResponse } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { endOfLocalDayMs, type LocalDay, msUntil } from '@gateway/time';
import type { CounterName, GroupedTerms, KeyLimits, KnownTotal } from './limited-key.ts';
import { budgetSpan } from './span.ts';

/** Length of the sliding window. An entry made at instant t leaves at exactly t + 60,000 ms. */
export const WINDOW_MS = 60_000;

/** How long a place of a running request is kept without being renewed. */
export const PLACE_MS = 15_000;

/**
 * How long a reservation is kept that is neither settled nor renewed: its edge is dead. The outbox
 * of an edge that starts again within this time settles it; a later one still charges the cost.
 */
export const RESERVED_MS = 30_000;

/** After this time, another request may have ended and left its place or what it reserved. */
const SOON_MS = 1_000;

/** After this time, a ledger that does not answer may do so again. */
const UNKNOWN_MS = 3_000;

/**
 * A request to check against limits. Without a request id the limits are only read: the check
 * refuses nothing and changes nothing.
 */
export type Check = Pick<AdmitRequest, 'requestId' | 'costKind'> &
  GroupedTerms & {
    /** What the caller saw last: if a counter has lost its total, it continues from there. */
    readonly knownTotals?: readonly KnownTotal[];
  };

/** The request is admitted unless there is a refusal. */
export type Decision = Pick<AdmitResponse, 'status' | 'refusal'> & {
  /** Absent without a group. */
  readonly groupStatus?: LimitStatus | undefined;
  /** Nothing is decided before the totals of these counters are loaded. Absent: all are. */
  readonly unloaded?: readonly CounterName[];
};

/** What a store knows about a key at one instant. Every answer to a caller is derived from it. */
export interface KeyFacts {
  /** The store's clock. After it was set back, entries may lie ahead of it. */
  readonly nowMs: number;
  /** The local day by the store's clock. */
  readonly localDay: LocalDay;
  readonly requests: WindowFacts;
  /** Tokens that the key used on that day. */
  readonly usedTokens: number;
  /** Requests that have a place among the running ones. */
  readonly running?: number;
  readonly budget?: BudgetFacts;
}

/** The money of a period. */
export interface BudgetFacts {
  readonly spentMicros: number;
  readonly reservedMicros: number;
  /** What was spent before is lost, and the ledger does not answer: the budget may be spent. */
  readonly isUnknown?: boolean;
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
 * The answer to a request. With `isAdmitted` the request already has its slots and places, and the
 * facts include it. `groupFacts`: those of its group, if it has one.
 */
export function decisionOf(check: Check, facts: KeyFacts, isAdmitted = false, groupFacts?: KeyFacts): Decision {
  const groupStatus = groupFacts && { groupStatus: statusOf(check.group?.limits, groupFacts) };
  const refusal = isAdmitted ? undefined : refusalOf(check, facts, groupFacts);
  return { status: statusOf(check.limits, facts), refusal, ...groupStatus };
}

/** The answer to a check that can't be decided before these counters have a total. */
export function undecided(localDay: LocalDay, unloaded: readonly CounterName[]): Decision {
  return { status: create(LimitStatusSchema, { localDay }), unloaded };
}

/**
 * Decides all limits at once. Undefined when the request is admitted.
 * @see spec "429 responses"
 */
export function refusalOf(check: Check, facts: KeyFacts, groupFacts?: KeyFacts): Refusal | undefined {
  const { costKind, limits, group } = check;
  const ofKey = limitsReached(limits, costKind, facts, namesOfKey);
  const ofGroup = groupFacts === undefined ? [] : limitsReached(group?.limits, costKind, groupFacts, namesOfGroup);
  const [first, ...others] = [...ofKey, ...ofGroup];
  if (first === undefined) return undefined;
  // A client that retries at an earlier one of the instants would be refused again.
  return refusal(
    others.reduce((latest, other) => (other.retryAtMs > latest.retryAtMs ? other : latest), first),
    facts,
  );
}

/**
 * Decides whether a request may reserve its cost in the budget of a period. Undefined when it may.
 * A request that alone does not fit crosses a budget that is not spent if nothing else is reserved.
 * Otherwise the last part of a budget could never be spent.
 * @param nowMs by the store's clock.
 */
export function reservationRefusal(
  limits: KeyLimits | undefined,
  facts: BudgetFacts,
  costMicros: number,
  now: Pick<KeyFacts, 'localDay' | 'nowMs'>,
): Refusal | undefined {
  const { budget } = limits ?? {};
  const { spentMicros, reservedMicros, isUnknown = false } = facts;
  if (budget === undefined) return undefined;
  if (isUnknown) return refusal(budgetReached(budget, facts, now), now);
  if (spentMicros + reservedMicros + costMicros <= budget.amountMicros) return undefined;
  if (reservedMicros === 0 && spentMicros < budget.amountMicros) return undefined;
  return refusal(budgetReached(budget, facts, now), now);
}

interface ReachedLimit {
  readonly limit: LimitName;
  readonly retryAtMs: number;
  /** Present for a budget. */
  readonly budget?: BudgetStatus;
}

/** Names of limits by kind. */
type LimitNames = Readonly<Record<'requests' | 'tokens', LimitName>>;
const namesOfKey = { requests: LimitName.REQUESTS_PER_MINUTE, tokens: LimitName.TOKENS_PER_DAY };
const namesOfGroup = { requests: LimitName.GROUP_REQUESTS_PER_MINUTE, tokens: LimitName.GROUP_TOKENS_PER_DAY };

/** In the order in which they are named when several reset at the same instant. */
function limitsReached(limits: KeyLimits = {}, costKind: CostKind, facts: KeyFacts, names: LimitNames) {
  const { nowMs, localDay, requests, usedTokens, running = 0, budget: money } = facts;
  const { requestsPerMinute = Infinity, tokensPerDay = Infinity, concurrentRequests = Infinity, budget } = limits;
  const reached: ReachedLimit[] = [];
  if (requests.count >= requestsPerMinute) {
    reached.push({ limit: names.requests, retryAtMs: (requests.freeingMs ?? nowMs) + WINDOW_MS });
  }
  if (costKind === CostKind.REQUEST_ONLY) return reached;
  if (usedTokens >= tokensPerDay) reached.push({ limit: names.tokens, retryAtMs: endOfLocalDayMs(localDay) });
  if (budget !== undefined && money !== undefined && !hasRoom(budget, money))
    reached.push(budgetReached(budget, money, { localDay, nowMs }));
  if (running >= concurrentRequests) reached.push({ limit: LimitName.CONCURRENCY, retryAtMs: nowMs + SOON_MS });
  return reached;
}

function hasRoom(
  { amountMicros }: KeyBudget,
  { spentMicros, reservedMicros, isUnknown = false }: BudgetFacts,
): boolean {
  return !isUnknown && spentMicros + reservedMicros < amountMicros;
}

/** What others have reserved may be free soon; what is spent is so until the period ends. */
function budgetReached(budget: KeyBudget, facts: BudgetFacts, now: Pick<KeyFacts, 'localDay' | 'nowMs'>): ReachedLimit {
  const { localDay, nowMs } = now;
  if (facts.isUnknown) return { limit: LimitName.BUDGET, retryAtMs: nowMs + UNKNOWN_MS };
  const endMs = budgetEndMs(budget.period, localDay);
  const isSpent = facts.spentMicros >= budget.amountMicros;
  const retryAtMs = isSpent && endMs > nowMs ? endMs : nowMs + SOON_MS;
  return { limit: LimitName.BUDGET, retryAtMs, budget: budgetStatus(budget, facts, now) };
}

function refusal({ limit, retryAtMs, budget }: ReachedLimit, { nowMs }: Pick<KeyFacts, 'nowMs'>): Refusal {
  const retryAfterMs = msUntil(retryAtMs, nowMs);
  return create(RefusalSchema, { limit, retryAtMs, retryAfterMs, budget });
}

const noMoney: BudgetFacts = { spentMicros: 0, reservedMicros: 0 };

function statusOf(limits: KeyLimits = {}, facts: KeyFacts): LimitStatus {
  const { requestsPerMinute, tokensPerDay, concurrentRequests, budget } = limits;
  const { running = 0, budget: money = noMoney } = facts;
  const status = create(LimitStatusSchema, {
    localDay: facts.localDay,
    requests: requestsPerMinute === undefined ? undefined : requestWindow(requestsPerMinute, facts),
    tokens: tokensPerDay === undefined ? undefined : tokenBudget(tokensPerDay, facts),
  });
  if (concurrentRequests !== undefined)
    status.concurrency = create(ConcurrencySchema, { limit: concurrentRequests, running });
  if (budget !== undefined && !money.isUnknown) status.budget = budgetStatus(budget, money, facts);
  return status;
}

function budgetStatus(
  { amountMicros, period }: KeyBudget,
  { spentMicros, reservedMicros }: BudgetFacts,
  { localDay, nowMs }: Pick<KeyFacts, 'localDay' | 'nowMs'>,
): BudgetStatus {
  const endMs = budgetEndMs(period, localDay);
  return create(BudgetStatusSchema, {
    amountMicros,
    spentMicros,
    reservedMicros,
    firstDay: budgetSpan(period, localDay).firstDay,
    resetsAtMs: endMs,
    resetsAfterMs: msUntil(endMs, nowMs),
  });
}

type KeyBudget = NonNullable<KeyLimits['budget']>;

function budgetEndMs(period: BudgetPeriod, localDay: LocalDay): number {
  return endOfLocalDayMs(budgetSpan(period, localDay).lastDay);
}

function requestWindow(limit: number, { nowMs, requests: { count, newestMs, freeingMs } }: KeyFacts) {
  const freeMs = (enteredMs: number | undefined) => (enteredMs === undefined ? nowMs : enteredMs + WINDOW_MS);
  const emptyMs = freeMs(newestMs);
  const nextSlotMs = count < limit ? nowMs : freeMs(freeingMs);
  const resetsMs = limit === 0 ? nowMs + WINDOW_MS : freeMs(freeingMs);
  const nextSlot = { nextSlotAtMs: nextSlotMs, nextSlotAfterMs: msUntil(nextSlotMs, nowMs) };
  return {
    limit,
    remaining: Math.max(0, limit - count),
    emptyAtMs: emptyMs,
    emptyAfterMs: msUntil(emptyMs, nowMs),
    resetsAtMs: resetsMs,
    resetsAfterMs: msUntil(resetsMs, nowMs),
    ...(limit > 0 && nextSlot),
  };
}

function tokenBudget(limit: number, { localDay, usedTokens, nowMs }: KeyFacts) {
  const endMs = endOfLocalDayMs(localDay);
  const resets = { resetsAtMs: endMs, resetsAfterMs: msUntil(endMs, nowMs) };
  return { limit, remaining: Math.max(0, limit - usedTokens), ...resets };
}

/** When data of a day can be dropped: requests admitted before its midnight may end hours later. */
export function dayForgottenAtMs(day: LocalDay): number {
  return endOfLocalDayMs(day) + 6 * 3_600_000;
}
