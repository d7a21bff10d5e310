import type { OwnAdmission as OwnAdmissionMessage } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { LocalDay } from '@gateway/time';
import type { Check, Decision } from './decide.ts';
import type { ReplicaPlace } from './replica-share.ts';

/**
 * Where windows and day counters live. Each verb is one atomic step on the store's own clock, and each may be repeated:
 * the same request id takes no second slot while its entry is in the window, and adds its tokens once while it is pending
 * and for two minutes.
 *
 * A day counter is the ledger's total plus the settled requests that the ledger does not have yet, which are pending. Of a
 * key that no ledger knows it is what was settled.
 */
export interface LimitStore extends RemoteLimits {
  /**
   * The ids of pending requests, to ask the ledger for. Undefined when another limiter asked less than `pauseMs` ago (0: it does
   * not matter), or when the counter can't be read.
   */
  pendingIds(key: string, day: LocalDay, pauseMs: number): Promise<readonly string[] | undefined>;
  /**
   * Compares a day's counter with the ledger's total. Requests that the total holds are pending no more. Of requests that were settled
   * since the pending ones were listed nobody knows whether the total holds them: they do not show that the counter is wrong.
   * A total below an earlier one changes nothing unless forced: a replica of the ledger may lag, and answers may overtake each other.
   */
  reloadDay(key: string, day: LocalDay, total: LedgerTotal): Promise<ReloadedDay>;
  /** Why nothing can be decided now; undefined when it can. */
  notReady?(): string | undefined;
}

/** What decides for all replicas, and may go away. */
export interface RemoteLimits {
  /** Decides both limits and takes a slot when it admits. A refused request leaves no trace. */
  admit(check: Check): Promise<Decision>;
  /** Adds a request's tokens to its day. */
  settle(settlement: Settlement): Promise<DayTotal>;
  /**
   * Records that a replica of a group lives, and which requests it admitted by itself: each once, also beyond a limit. Answers its
   * place; undefined when those of others are not known now.
   */
  heartbeat(beat: Heartbeat): Promise<ReplicaPlace | undefined>;
  /** Connects, if there is something to connect to. */
  start?(): Promise<void>;
}

export interface Heartbeat {
  readonly group: string;
  readonly replicaId: string;
  readonly admissions: readonly OwnAdmission[];
  /** `answeredAtMs` of the last answer that the replica got: so long ago it is known to have been in touch with the store, however late this comes. */
  readonly lastAnsweredAtMs?: number | undefined;
}

/** A request that took its slot so many milliseconds ago. */
export type OwnAdmission = Pick<OwnAdmissionMessage, 'key' | 'requestId' | 'ageMs'>;

export interface Settlement {
  readonly key: string;
  readonly requestId: string;
  /** The day of the request's admission. */
  readonly localDay: LocalDay;
  readonly tokens: number;
  /** Whether a ledger will have the request: it is pending until then. */
  readonly hasLedger?: boolean;
}

export interface DayTotal {
  readonly usedTokens: number;
  /** False when what the ledger has is missing. */
  readonly isLoaded: boolean;
}

/** What the ledger says of a key's day, read in one snapshot. */
export interface LedgerTotal {
  readonly totalTokens: number;
  /** Those of the pending requests that were asked about and are in the total. */
  readonly includedIds: readonly string[];
  /** Those that were asked about and are not. */
  readonly missingIds: readonly string[];
  readonly force?: boolean;
  /** A counter without a total gets none from this one, as long as there are pending requests that were not asked about. */
  readonly isTentative?: boolean;
}

export interface ReloadedDay {
  /** Undefined when no total had been loaded. */
  readonly usedTokensBefore: number | undefined;
  readonly usedTokensAfter: number;
  /** Settled tokens that the ledger does not have yet. */
  readonly pendingTokens: number;
  /** Of these, tokens of requests that the ledger was not asked about: by so many the counter may be wrong if it has just been changed. */
  readonly unaskedTokens: number;
}

/**
 * What a counter stands at after a comparison. Of the pending tokens some were not asked about, and may be in the total as well, so that
 * the truth lies in a range: a counter within it stays as it is, and one outside of it was wrong.
 * @param used undefined for a counter that had no total.
 */
export function comparedTokens(used: number | undefined, total: number, pending: number, unasked: number): number {
  return Math.max(total + pending - unasked, Math.min(total + pending, used ?? Infinity));
}

/**
 * Requests of one key and day that are pending by their ids: as many as the ledger can be asked for in one call. Of further ones
 * only the tokens count. While more than half as many are pending, the ledger is far behind, and its total waits.
 */
export const maxPendingIds = 10_000;

/** As many at a time as a store can be asked at once and still answer each call within its deadline. */
export function* slicesOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += 500) yield items.slice(start, start + 500);
}
