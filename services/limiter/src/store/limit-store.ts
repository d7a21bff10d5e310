import type { ReplicaPlace } from '@gateway/lifecycle/replica-share';
import type { LocalDay } from '@gateway/time';
import type { Decision, Question, RecordedAdmission } from '../windows/decide.ts';

/**
 * Where windows and day counters live. Each verb is one atomic step on the store's own clock, and each may be repeated:
 * the same request id takes no second slot while its entry is in the window, and adds its tokens once while it is pending
 * and for two minutes.
 *
 * A day counter is the ledger's total plus the settled requests that the ledger does not have yet, which are pending. Of a
 * key that no ledger knows it is what was settled.
 */
export interface LimitStore {
  /** Decides both limits and takes a slot when it admits. A refused request leaves no trace. */
  admit(check: Check): Promise<Decision | DayTotalUnknown>;
  /** Adds a request's tokens to its day. */
  settle(settlement: Settlement): Promise<DayTotal>;
  /**
   * The ids of pending requests, to ask the ledger for. Undefined when another limiter asked less than `pauseMs` ago (0: it does
   * not matter), or when the counter can't be read.
   */
  pendingIds(key: string, day: LocalDay, pauseMs: number): Promise<readonly string[] | undefined>;
  /**
   * Gives a day's counter the ledger's total. Requests that the total holds are pending no more. A total below an earlier one is
   * believed only when forced: a replica of the ledger may lag, and answers may overtake each other.
   */
  reloadDay(key: string, day: LocalDay, total: LedgerTotal): Promise<ReloadedDay>;
  /** Adds requests that were admitted elsewhere to a window, each once, also beyond a limit. */
  recordAdmissions(key: string, admissions: readonly RecordedAdmission[]): Promise<void>;
  /** Records that a replica of a group lives, and answers its place; undefined when those of others are not known now. */
  heartbeat(group: string, replicaId: string): Promise<ReplicaPlace | undefined>;
  /** Connects, if there is something to connect to. */
  start?(): Promise<void>;
  /** Why nothing can be decided now; undefined when it can. */
  notReady?(): string | undefined;
}

export interface Check extends Question {
  readonly key: string;
  /** Undefined to read both limits and change nothing: then nothing is refused. */
  readonly requestId: string | undefined;
  /** Whether the day's total must have been loaded from a ledger first. Else it counts from zero until it was. */
  readonly hasLedger: boolean;
}

/** The day's total was not loaded yet, and a day budget can't be judged without it. Nothing was decided. */
export interface DayTotalUnknown {
  readonly kind: 'day_total_unknown';
  readonly localDay: LocalDay;
}

export interface Settlement {
  readonly key: string;
  readonly requestId: string;
  /** The day of the request's admission. */
  readonly localDay: LocalDay;
  readonly tokens: number;
  /** Whether a ledger will have the request: it is pending until then. */
  readonly hasLedger: boolean;
}

export interface DayTotal {
  readonly usedTokens: number;
  /** False when what the ledger has is missing. */
  readonly isLoaded: boolean;
}

/** What the ledger says of a key's day, read in one snapshot. */
export interface LedgerTotal {
  readonly totalTokens: number;
  /** Those of the pending requests that are in the total. */
  readonly includedIds: readonly string[];
  readonly force?: boolean;
}

export interface ReloadedDay {
  /** Undefined when no total had been loaded. */
  readonly usedTokensBefore: number | undefined;
  readonly usedTokensAfter: number;
  /** Settled tokens that the ledger does not have yet. */
  readonly pendingTokens: number;
}

/**
 * Requests of one key and day that are pending by their ids: as many as the ledger can be asked for in one call. Of further ones
 * only the tokens count. While more than half as many are pending, the ledger is far behind, and its total waits.
 */
export const maxPendingIds = 10_000;

export interface KeyedAdmission extends RecordedAdmission {
  readonly key: string;
}

/** As many at a time as a store can be asked at once and still answer each call within its deadline. */
export function* slicesOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += 500) yield items.slice(start, start + 500);
}

/** Records many admissions, a bounded number at a time. */
export async function recordAll(
  store: Pick<LimitStore, 'recordAdmissions'>,
  admissions: readonly KeyedAdmission[],
): Promise<void> {
  for (const some of slicesOf(admissions)) {
    const byKey = Map.groupBy(some, ({ key }) => key);
    await Promise.all(Array.from(byKey, ([key, ofKey]) => store.recordAdmissions(key, ofKey)));
  }
}
