import { create } from '@bufbuild/protobuf';
import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type ReplicaPlace, shareOf } from '@gateway/lifecycle/replica-share';
import {
  CostKind,
  LimitName,
  type LimitStatus,
  LimitStatusSchema,
  type Refusal,
  RefusalSchema,
} from '@gateway/proto/limiter/v1/limit_pb.js';
import type { AdmitRequest } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type Clock, localDayOf, nextLocalMidnightMs } from '@gateway/time';
import { LRUCache } from 'lru-cache';

/** A request to be checked; `limits` has at least one. */
export type Check = Pick<AdmitRequest, 'key' | 'requestId' | 'costKind'> & { readonly limits?: CheckedLimits };

interface CheckedLimits {
  readonly requestsPerMinute?: number;
  readonly tokensPerDay?: bigint;
}

export interface Decision {
  readonly status?: LimitStatus | undefined;
  /** Absent when the request was admitted. */
  readonly refusal?: Refusal | undefined;
}

/** A request that this edge admitted without the limiter. */
export interface OwnAdmission {
  readonly key: string;
  readonly requestId: string;
  readonly atMs: number;
}

/**
 * Decides for the time in which the limiter does not answer. It knows what went through this edge in the last minute, with
 * or without the limiter, and what was used of each day budget as far as this edge has heard. Of the requests per minute it admits
 * the share that falls to this edge: all edges together admit the limit.
 */
export class FallbackLimiter {
  readonly #clock: Clock;
  readonly #keys = new LRUCache<string, KnownKey>({ max: maxKeys });
  #notHandedOver: OwnAdmission[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  decide({ key, requestId, limits = {}, costKind }: Check, place: ReplicaPlace): Decision {
    const nowMs = this.#clock.nowMs();
    const known = this.#open(key, nowMs);
    const { requestsPerMinute: limit, tokensPerDay } = limits;
    const isOverBudget =
      tokensPerDay !== undefined &&
      costKind !== CostKind.REQUEST_ONLY &&
      known.usedTokensOn(localDayOf(nowMs)) >= Number(tokensPerDay);
    const isOverWindow = limit !== undefined && known.atMs.length >= shareOf(limit, place);
    if (!isOverBudget && !isOverWindow && limit !== undefined) {
      known.atMs.push(nowMs);
      this.#notHandedOver.push({ key, requestId, atMs: nowMs });
    }
    const status = statusOf(known, limits, place, nowMs);
    const refusals = [
      ...(isOverWindow ? [refusalOf(LimitName.REQUESTS_PER_MINUTE, status.requests?.resetsAt)] : []),
      ...(isOverBudget ? [refusalOf(LimitName.TOKENS_PER_DAY, status.tokens?.resetsAt)] : []),
    ];
    // The limit that can be met last is the one to name.
    const [refusal] = refusals.sort((one, other) => secondsOf(other.retryAt) - secondsOf(one.retryAt));
    return { status, refusal };
  }

  /** Reads what `decide` goes by, and changes nothing. */
  peek({ key, limits = {} }: Pick<Check, 'key' | 'limits'>, place: ReplicaPlace): LimitStatus {
    const nowMs = this.#clock.nowMs();
    return statusOf(this.#open(key, nowMs), limits, place, nowMs);
  }

  /** The limiter decided: what it admitted is remembered, and what it says of the day budget. */
  noteDecision({ key }: Pick<Check, 'key'>, { status, refusal }: Decision): void {
    const nowMs = this.#clock.nowMs();
    const known = this.#open(key, nowMs);
    if (refusal === undefined && status?.requests !== undefined) known.atMs.push(nowMs);
    const { tokens, localDay = '' } = status ?? {};
    if (tokens !== undefined) known.noteTotal(localDay, Number(tokens.limit - tokens.remaining));
  }

  /** The limiter took a charge: so much was used on that day. */
  noteTotal(key: string, localDay: string, usedTokens: number): void {
    this.#open(key, this.#clock.nowMs()).noteTotal(localDay, usedTokens);
  }

  /** A charge has to wait for the limiter. */
  noteUncharged(key: string, localDay: string, tokens: number): void {
    const known = this.#open(key, this.#clock.nowMs());
    known.noteTotal(localDay, known.usedTokensOn(localDay) + tokens);
  }

  /** What was admitted here in the last minute and the limiter does not know yet. */
  get notHandedOver(): readonly OwnAdmission[] {
    const oldestMs = this.#clock.nowMs() - windowMs;
    this.#notHandedOver = this.#notHandedOver.filter(({ atMs }) => atMs > oldestMs);
    return [...this.#notHandedOver];
  }

  noteHandedOver(admissions: readonly OwnAdmission[]): void {
    const handedOver = new Set(admissions);
    this.#notHandedOver = this.#notHandedOver.filter((admission) => !handedOver.has(admission));
  }

  /** The key without what is a minute old. */
  #open(key: string, nowMs: number): KnownKey {
    const known = this.#keys.get(key) ?? new KnownKey();
    this.#keys.set(key, known);
    while ((known.atMs[0] ?? Number.POSITIVE_INFINITY) <= nowMs - windowMs) known.atMs.shift();
    return known;
  }
}

const windowMs = 60_000;
/** Beyond it the keys that were used least recently begin anew. */
const maxKeys = 10_000;

class KnownKey {
  /** When requests of the last minute were admitted, the oldest first. */
  readonly atMs: number[] = [];
  #localDay = '';
  #usedTokens = 0;

  usedTokensOn(localDay: string): number {
    return localDay === this.#localDay ? this.#usedTokens : 0;
  }

  /** Answers overtake each other; a total grows. */
  noteTotal(localDay: string, usedTokens: number): void {
    if (localDay < this.#localDay) return;
    this.#usedTokens = Math.max(this.usedTokensOn(localDay), usedTokens);
    this.#localDay = localDay;
  }
}

/** The limits are still the token's, what remains of them is of this edge's share. */
function statusOf(known: KnownKey, limits: CheckedLimits, place: ReplicaPlace, nowMs: number): LimitStatus {
  const { requestsPerMinute, tokensPerDay } = limits;
  return create(LimitStatusSchema, {
    localDay: localDayOf(nowMs),
    degraded: true,
    ...(requestsPerMinute === undefined ? {} : { requests: windowOf(known, requestsPerMinute, place, nowMs) }),
    ...(tokensPerDay === undefined ? {} : { tokens: budgetOf(known, tokensPerDay, nowMs) }),
  });
}

function windowOf({ atMs }: KnownKey, limit: number, place: ReplicaPlace, nowMs: number) {
  const share = shareOf(limit, place);
  const newestMs = atMs.at(-1);
  const freeingMs = share === 0 ? nowMs : atMs[Math.max(0, atMs.length - share)];
  const resetsAt = timestampFromMs(freeingMs === undefined ? nowMs : freeingMs + windowMs);
  return {
    limit,
    remaining: Math.max(0, share - atMs.length),
    emptyAt: timestampFromMs(newestMs === undefined ? nowMs : newestMs + windowMs),
    resetsAt,
    ...(limit === 0 ? {} : { nextSlotAt: atMs.length < share ? timestampFromMs(nowMs) : resetsAt }),
  };
}

function budgetOf(known: KnownKey, limit: bigint, nowMs: number) {
  const used = BigInt(known.usedTokensOn(localDayOf(nowMs)));
  const resetsAt = timestampFromMs(nextLocalMidnightMs(nowMs));
  return { limit, remaining: used < limit ? limit - used : 0n, resetsAt };
}

function refusalOf(limit: LimitName, retryAt: Timestamp | undefined): Refusal {
  return create(RefusalSchema, { limit, ...(retryAt === undefined ? {} : { retryAt }) });
}

function secondsOf(at: Timestamp | undefined): number {
  return Number(at?.seconds ?? 0n);
}
