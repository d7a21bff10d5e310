import type { ReplicaPlace } from '@gateway/lifecycle/replica-share';
import type { LocalDay } from '@gateway/time';
import type { Decision, LimitStatus } from '../windows/limit-status.ts';
import type { CostKind, Limits } from '../windows/limits.ts';

/**
 * What the caller knows of the tokens that a key used on a day before the store began to count; undefined when nothing.
 * What the store itself remembers wins.
 */
export type KnownDayBase = (day: LocalDay) => number | undefined;

export interface KeyQuestion {
  readonly key: string;
  readonly limits: Limits;
  readonly dayBase: KnownDayBase;
}

export interface AdmitCheck extends KeyQuestion {
  readonly requestId: string;
  readonly costKind: CostKind;
}

export interface Settlement {
  readonly key: string;
  readonly requestId: string;
  /** The day of the request's admission. */
  readonly localDay: LocalDay;
  readonly tokens: number;
  /** When nothing is known of the day's base, a ledger is: the tokens count as pending until it has the request. */
  readonly dayBase: KnownDayBase;
}

/** A request that took its slot elsewhere, so many milliseconds ago. */
export interface RecordedAdmission {
  readonly requestId: string;
  readonly ageMs: number;
}

/** A reconciliation under way: no other one of the same day may begin until it has finished or was given up. */
export interface OpenReconciliation {
  readonly ticket: string;
  /** Settled requests of which the store does not know that the ledger has them. */
  readonly pendingIds: readonly string[];
}

/** What a ledger says of a day, read in one snapshot. */
export interface LedgerSnapshot {
  readonly totalTokens: number;
  /** Those of the pending requests that are in the total. */
  readonly includedIds: readonly string[];
}

export interface ReconciledDay {
  /** Undefined when the store knew no base. */
  readonly usedTokensBefore: number | undefined;
  readonly usedTokensAfter: number;
  /** Settled tokens that the ledger does not have yet. */
  readonly pendingTokens: number;
}

export interface DayTotal {
  readonly usedTokens: number;
  /** False when tokens from before the store began to count may be missing. */
  readonly baseKnown: boolean;
}

/** The day's counter lacks its base, and a day budget can't be judged without it. Nothing was decided. */
export interface DayBaseUnknown {
  readonly kind: 'day_base_unknown';
  readonly localDay: LocalDay;
}

/**
 * Where windows and day counters live. Each verb is one atomic step on the store's own clock, and each may be repeated:
 * the same request id takes no second slot while its entry is in the window, and adds its tokens once while it is pending
 * and for two minutes. A store that has all at hand answers `admit` and `settle` at once.
 */
export interface LimitStore {
  /** Decides both limits and takes a slot when it admits. A refused request leaves no trace. */
  admit(check: AdmitCheck): Promise<Decision | DayBaseUnknown> | Decision | DayBaseUnknown;
  /** As `admit`, of many at once: each is decided by itself, one after the other. Answers in their order. */
  admitAll(checks: readonly AdmitCheck[]): Promise<readonly (Decision | DayBaseUnknown)[]>;
  /** Adds a request's tokens to its day. */
  settle(settlement: Settlement): Promise<DayTotal> | DayTotal;
  /** As `settle`, of many at once. */
  settleAll(settlements: readonly Settlement[]): Promise<readonly DayTotal[]>;
  /** Reads both limits and changes nothing. */
  peek(question: KeyQuestion): Promise<{ readonly kind: 'status'; readonly status: LimitStatus } | DayBaseUnknown>;
  /** Gives a day's counter the base that it lacks; settled tokens stay, a base that is there wins. Answers the total. */
  rememberDayBase(key: string, day: LocalDay, tokens: number): Promise<number>;
  /**
   * Begins to compare a day's counter with the ledger. Undefined when another limiter did so less than `pauseMs` ago;
   * with `force` that one's result is refused instead.
   */
  beginReconciliation(
    key: string,
    day: LocalDay,
    options: { readonly pauseMs: number; readonly force?: boolean },
  ): Promise<OpenReconciliation | undefined>;
  /**
   * Makes the ledger's total the base, and takes what it holds out of the pending tokens. Undefined, and nothing changes,
   * when the ticket is no longer the latest. A total below the base is believed only when forced: a replica of the ledger
   * may lag.
   */
  finishReconciliation(
    key: string,
    day: LocalDay,
    ticket: string,
    ledger: LedgerSnapshot & { readonly force?: boolean },
  ): Promise<ReconciledDay | undefined>;
  /** Takes note of requests that were admitted elsewhere, each once, also beyond a limit. */
  recordAdmissions(key: string, admissions: readonly RecordedAdmission[]): Promise<void>;
  /** Takes note that a replica of a group lives, and answers its place; undefined when those of others are not known now. */
  heartbeat(group: string, replicaId: string): Promise<ReplicaPlace | undefined>;
  /** Connects, if there is something to connect to. */
  start?(): Promise<void>;
  /** Why nothing can be decided now; undefined when it can. */
  notReady?(): string | undefined;
}
