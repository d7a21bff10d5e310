import { RequestTable } from './request-table.ts';

/** Length of the sliding window. An entry of the instant t leaves at exactly t + 60 000 ms. */
export const WINDOW_MS = 60_000;

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

/** How many entries are older than the one whose leaving frees the next slot. Undefined when no leaving frees one. */
export function freeingIndex(count: number, limit: number): number | undefined {
  return limit > 0 && count > 0 ? Math.max(0, count - limit) : undefined;
}

/** The exact log of one key's admissions. Entries are request ids, so that the same request never counts twice. */
export class MinuteWindow {
  /** When each request entered, in order of time: now() never goes back behind the newest entry. */
  readonly #entered = new RequestTable();
  /** Of the newest entry that there was. */
  #newestMs = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#entered.size;
  }

  /** The window's time: a clock that was set back must not put new entries before old ones. */
  now(clockMs: number): number {
    if (this.#entered.size === 0) return clockMs;
    if (this.#newestMs > clockMs + WINDOW_MS) this.#pullBack(clockMs);
    return Math.max(clockMs, this.#newestMs);
  }

  /** Drops the entries that are 60 seconds old and answers how many. Call it with now() before anything else is asked. */
  dropExpired(nowMs: number): number {
    const before = this.#entered.size;
    for (;;) {
      const oldestMs = this.#entered.at(0);
      if (oldestMs === undefined || oldestMs > nowMs - WINDOW_MS) return before - this.#entered.size;
      this.#entered.deleteOldest();
    }
  }

  has(requestId: string): boolean {
    return this.#entered.has(requestId);
  }

  /** Puts an entry behind all others, for a request that has none. */
  take(requestId: string, nowMs: number): void {
    this.#entered.add(requestId, nowMs);
    this.#newestMs = nowMs;
  }

  /** Puts an entry where it belongs in time. False, and nothing changes, when the request has one already. */
  insert(requestId: string, enteredMs: number): boolean {
    if (this.#entered.has(requestId)) return false;
    if (this.#entered.size === 0 || enteredMs >= this.#newestMs) this.take(requestId, enteredMs);
    else this.#replaceAll([...this.#entered, [requestId, enteredMs]]);
    return true;
  }

  /** The entries of that instant and of those after it: request ids, and when they entered. */
  entriesSince(fromMs: number): readonly (readonly [string, number])[] {
    if (this.#entered.size === 0 || this.#newestMs < fromMs) return [];
    return [...this.#entered].filter(([, enteredMs]) => enteredMs >= fromMs);
  }

  facts(limit: number): WindowFacts {
    const count = this.#entered.size;
    if (count === 0) return emptyWindow;
    const index = freeingIndex(count, limit);
    const freeingMs = index === undefined ? undefined : this.#entered.at(index);
    return { count, newestMs: this.#newestMs, freeingMs };
  }

  isIdle(nowMs: number): boolean {
    return this.#newestMs + WINDOW_MS <= nowMs;
  }

  /**
   * The clock was set back by more than any lag of a replica. When the entries ahead of it were made is not known any more,
   * but not after now: they count as made now, and none of them holds a slot for longer than a minute.
   */
  #pullBack(clockMs: number): void {
    this.#replaceAll([...this.#entered].map(([requestId, enteredMs]) => [requestId, Math.min(enteredMs, clockMs)]));
  }

  #replaceAll(entries: readonly (readonly [string, number])[]): void {
    this.#entered.clear();
    for (const [requestId, enteredMs] of entries.toSorted(([, one], [, other]) => one - other)) {
      this.take(requestId, enteredMs);
    }
  }
}
