import type { LocalDay } from '@gateway/time';
import type { WindowFacts } from './minute-window.ts';

/** What a store knows of a key at one instant. Everything that callers are told follows from it. */
export interface KeyFacts {
  /** The store's time, never before the newest entry. */
  readonly nowMs: number;
  /** The local day of the store's clock. */
  readonly localDay: LocalDay;
  readonly requests: WindowFacts;
  /** Tokens that the key used on that day. */
  readonly usedTokens: number;
}
