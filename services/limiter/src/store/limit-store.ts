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
  readonly dayBase: KnownDayBase;
  /**
   * True when it is told again after an outage. If the store lost the day's base in it, the base will be loaded from a
   * ledger that has this request by then: it must not be added here too.
   */
  readonly replayed: boolean;
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
 * the same request id takes no second slot while its entry is in the window and adds its tokens once.
 */
export interface LimitStore {
  /** Decides both limits and takes a slot when it admits. A refused request leaves no trace. */
  admit(check: AdmitCheck): Promise<Decision | DayBaseUnknown>;
  /** Adds a request's tokens to its day. */
  settle(settlement: Settlement): Promise<DayTotal>;
  /** Reads both limits and changes nothing. */
  peek(question: KeyQuestion): Promise<{ readonly kind: 'status'; readonly status: LimitStatus } | DayBaseUnknown>;
  /** Gives a day's counter the base that it lacks; settled tokens stay, a base that is there wins. Answers the total. */
  rememberDayBase(key: string, day: LocalDay, tokens: number): Promise<number>;
  /** Connects, if there is something to connect to. */
  start?(): Promise<void>;
  /** Why nothing can be decided now; undefined when it can. */
  notReady?(): string | undefined;
}
