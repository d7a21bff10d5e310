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

/** What this edge knows of a key. */
interface KnownKey {
  /** When requests of the last minute were admitted, the oldest first. */
  atMs: number[];
  localDay: string;
  /** On that day. */
  usedTokens: number;
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
    const before = this.peek({ key, limits }, place);
    const isOverWindow = before.requests?.remaining === 0;
    const isOverBudget = before.tokens?.remaining === 0n && costKind !== CostKind.REQUEST_ONLY;
    const refusals = [
      ...(isOverWindow ? [refusalOf(LimitName.REQUESTS_PER_MINUTE, before.requests?.resetsAt)] : []),
      ...(isOverBudget ? [refusalOf(LimitName.TOKENS_PER_DAY, before.tokens?.resetsAt)] : []),
    ];
    // The limit that can be met last is the one to name.
    const [refusal] = refusals.sort((one, other) => secondsOf(other) - secondsOf(one));
    if (refusal !== undefined || before.requests === undefined) return { status: before, refusal };
    this.#open(key).atMs.push(nowMs);
    this.#notHandedOver.push({ key, requestId, atMs: nowMs });
    return { status: this.peek({ key, limits }, place), refusal };
  }

  /** Reads what `decide` goes by, and changes nothing. The limits are still the token's, what remains of them is of this edge's share. */
  peek({ key, limits = {} }: Pick<Check, 'key' | 'limits'>, place: ReplicaPlace): LimitStatus {
    const nowMs = this.#clock.nowMs();
    const known = this.#open(key);
    const { requestsPerMinute, tokensPerDay } = limits;
    return create(LimitStatusSchema, {
      localDay: localDayOf(nowMs),
      degraded: true,
      ...(requestsPerMinute === undefined ? {} : { requests: windowOf(known, requestsPerMinute, place, nowMs) }),
      ...(tokensPerDay === undefined ? {} : { tokens: budgetOf(known, tokensPerDay, nowMs) }),
    });
  }

  /** The limiter decided: what it admitted is remembered, and what it says of the day budget. */
  noteDecision({ key }: Pick<Check, 'key'>, { status, refusal }: Decision): void {
    if (refusal === undefined && status?.requests !== undefined) this.#open(key).atMs.push(this.#clock.nowMs());
    const { tokens, localDay = '' } = status ?? {};
    if (tokens !== undefined) this.noteTotal(key, localDay, Number(tokens.limit - tokens.remaining));
  }

  /** So much was used on that day. Answers overtake each other; a total grows. */
  noteTotal(key: string, localDay: string, usedTokens: number): void {
    const known = this.#open(key);
    if (localDay < known.localDay) return;
    known.usedTokens = Math.max(usedOn(localDay, known), usedTokens);
    known.localDay = localDay;
  }

  /** A charge has to wait for the limiter. */
  noteUncharged(key: string, localDay: string, tokens: number): void {
    this.noteTotal(key, localDay, usedOn(localDay, this.#open(key)) + tokens);
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
  #open(key: string): KnownKey {
    const known = this.#keys.get(key) ?? { atMs: [], localDay: '', usedTokens: 0 };
    this.#keys.set(key, known);
    const oldestMs = this.#clock.nowMs() - windowMs;
    while ((known.atMs[0] ?? Number.POSITIVE_INFINITY) <= oldestMs) known.atMs.shift();
    return known;
  }
}

const windowMs = 60_000;
/** Beyond it the keys that were used least recently begin anew. */
const maxKeys = 10_000;

function usedOn(day: string, { localDay, usedTokens }: KnownKey): number {
  return day === localDay ? usedTokens : 0;
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
  const used = BigInt(usedOn(localDayOf(nowMs), known));
  const resetsAt = timestampFromMs(nextLocalMidnightMs(nowMs));
  return { limit, remaining: used < limit ? limit - used : 0n, resetsAt };
}

function refusalOf(limit: LimitName, retryAt: Timestamp | undefined): Refusal {
  return create(RefusalSchema, { limit, ...(retryAt === undefined ? {} : { retryAt }) });
}

function secondsOf({ retryAt }: Refusal): number {
  return Number(retryAt?.seconds ?? 0n);
}
