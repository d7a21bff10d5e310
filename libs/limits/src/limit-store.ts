import type { Refusal } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { OwnAdmission as OwnAdmissionMessage } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import type { LocalDay } from '@gateway/time';
import type { Decision } from './decide.ts';
import type { Check, CounterName, GroupedTerms, KnownTotal, LimitedKey, Reservation } from './limited-key.ts';
import type { ReplicaPlace } from './replica-share.ts';

/**
 * Where windows, counters, places and reservations live. Each method is one atomic step on the
 * store's own clock and is safe to repeat: a request id takes no second slot while its entry is in
 * the window, and adds its tokens once while it is pending and for two minutes after.
 *
 * A counter is the ledger's total plus the pending requests: settled requests that the ledger does
 * not have yet. For a key without a ledger the counter is the sum of what was settled.
 */
export interface LimitStore extends RemoteLimits {
  /**
   * The ids of requests to look up in the ledger: pending ones, and those that have reserved.
   * Undefined when another limiter asked less than `pauseMs` ago (0 ignores this), or when the
   * counter can't be read.
   */
  pendingIds(counter: CounterName, pauseMs: number): Promise<readonly string[] | undefined>;
  /**
   * Compares a counter with the ledger's total. Requests that the total includes are no longer
   * pending, and what they reserved is free. For requests that settled after the pending ids were
   * listed, it is unknown whether the total includes them, so they are no evidence that the counter
   * is wrong. A total below an earlier one changes nothing unless it is forced: a replica of the
   * ledger may lag, and answers may arrive out of order.
   */
  reload(counter: CounterName, total: LedgerTotal): Promise<ReloadedCounter>;
  /**
   * Raises counters to totals that were known, where they are lower. The next total of the ledger
   * replaces them, whatever it is, and is waited for. If pending requests have no total below them,
   * it was lost, and they come on top.
   */
  raise(known: readonly KnownTotal[]): Promise<void>;
  /** Whether it may have come back as an older copy just now. */
  readonly mayLackTotals?: boolean;
  /** Connects, if there is something to connect to. */
  start?(): Promise<void>;
  /** Why nothing can be decided now; undefined when the store is ready. */
  notReady?(): string | undefined;
}

/** The store that decides for all replicas, and that may become unreachable. */
export interface RemoteLimits {
  /**
   * Decides the limits of a key and its group, and takes a slot and a lease of each when it admits.
   * A refused request leaves no trace.
   */
  admit(check: Check): Promise<Decision>;
  /**
   * Reserves what an admitted request can cost, until it ends. A refused request leaves no trace:
   * it returns its slots and leases.
   */
  reserve(reservation: Reservation): Promise<Refusal | undefined>;
  /** Adds what a request used to its counters. */
  settle(settlement: Settlement): Promise<SettledTotals>;
  /**
   * Keeps the leases and reservations of running requests, and takes again those that were lost.
   */
  renew(running: readonly Reservation[]): Promise<void>;
  /**
   * Records that a replica of a group is alive and which requests it admitted: each once, even
   * beyond a limit. Returns the replica's place; undefined if it is unknown.
   */
  heartbeat(beat: Heartbeat): Promise<ReplicaPlace | undefined>;
}

export interface Heartbeat {
  readonly group: string;
  readonly replicaId: string;
  readonly admissions: readonly OwnAdmission[];
  /**
   * `answeredAtMs` of the last answer that the replica got. It shows when the replica was last in
   * touch with the store, however late this heartbeat arrives.
   */
  readonly lastAnsweredAtMs?: number | undefined;
}

/** A request that took its slot `ageMs` ago. */
export type OwnAdmission = LimitedKey &
  Pick<OwnAdmissionMessage, 'requestId' | 'ageMs'> & {
    /** Whether it returned its slot that long ago, because it was refused after all. */
    readonly isReturned?: boolean;
  };

/** `hasLedger`: a ledger will record the request, which is pending until then. */
export interface Settlement extends GroupedTerms {
  readonly requestId: string;
  /** The day on which the request was admitted. */
  readonly localDay: LocalDay;
  /** Counted for the key without regard to its limits, unless these are given. */
  readonly tokens: number;
  readonly costMicros?: number;
  /** The request ends: it returns its leases and what it reserved, and takes none any more. */
  readonly ended?: boolean;
  /** It was kept in an outage: the ledger may have recorded the request already. */
  readonly late?: boolean;
}

export interface SettledTotals {
  /** 0 when the key's tokens are not counted. */
  readonly usedTokens: number;
  /** False when the ledger's total of the key's day is missing. */
  readonly isLoaded: boolean;
  /** Of its group. */
  readonly groupUsedTokens?: number;
  readonly groupSpentMicros?: number;
  /** Counters of the group, and of the key's budget, that lack the ledger's total. */
  readonly unloaded?: readonly CounterName[];
}

/**
 * The ledger's total for a counter, read in one snapshot. Here and below, tokens are millionths of
 * the currency for counters of money.
 */
export interface LedgerTotal {
  readonly totalTokens: number;
  /** The pending requests that were looked up and that the total includes. */
  readonly includedIds: readonly string[];
  /** The pending requests that were looked up and that the total lacks. */
  readonly missingIds: readonly string[];
  readonly force?: boolean;
  /**
   * When true, a counter without a total does not take this one while requests are pending that
   * were not looked up.
   */
  readonly isTentative?: boolean;
}

export interface ReloadedCounter {
  /** Undefined when no total was loaded. */
  readonly usedTokensBefore: number | undefined;
  readonly usedTokensAfter: number;
  /** Settled tokens that the ledger does not have yet. */
  readonly pendingTokens: number;
  /**
   * The part of `pendingTokens` from requests that were not looked up in the ledger. A counter that
   * has just been changed may be wrong by this much.
   */
  readonly unaskedTokens: number;
}

/**
 * The value of a counter after a comparison with the ledger. Some pending tokens were not looked up
 * and may be in the total as well, so the true value lies in a range: a counter within the range
 * stays unchanged, and one outside of it is corrected.
 * @param used undefined for a counter that had no total.
 */
export function comparedTokens(used: number | undefined, total: number, pending: number, unasked: number): number {
  return Math.max(total + pending - unasked, Math.min(total + pending, used ?? Infinity));
}

/**
 * How many requests of one counter are tracked as pending by their ids: as many as one call can
 * look up in the ledger. Beyond that only their tokens are counted. While more than half of this
 * number are pending, the ledger lags far behind, and its total is not loaded yet.
 */
export const maxPendingIds = 10_000;

/** Slices small enough for a store to answer each call within its deadline. */
export function* slicesOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += 500) yield items.slice(start, start + 500);
}
