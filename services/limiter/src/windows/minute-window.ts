/** Length of the sliding window. An entry of the instant t leaves at exactly t + 60 000 ms. */
export const WINDOW_MS = 60_000;

/** What a decision needs to know of a window. */
export interface WindowFacts {
  /** Entries in the window. */
  readonly count: number;
  /** Instant of the newest entry; undefined when the window is empty. */
  readonly newestMs: number | undefined;
  /** Instant of the entry whose leaving frees the next slot; undefined when one is free, or none ever will be. */
  readonly blockingMs: number | undefined;
}

export const emptyWindow: WindowFacts = { count: 0, newestMs: undefined, blockingMs: undefined };

/**
 * How many entries are older than the one whose leaving frees a slot, counted from the oldest in the window.
 * It is the oldest itself, unless the limit was lowered below the count. Undefined when a slot is free or the limit is 0.
 */
export function blockingIndex(count: number, limit: number): number | undefined {
  return limit > 0 && count >= limit ? count - limit : undefined;
}

/** The exact log of one key's admissions. Entries are request ids, so that the same request never counts twice. */
export class MinuteWindow {
  // In order of time: now() never goes back behind the newest entry.
  #entries = new Map<string, number>();
  #newestMs = Number.NEGATIVE_INFINITY;
  /** Not after the oldest entry: it says that nothing has expired without a look at the entries. */
  #oldestMs = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.#entries.size;
  }

  /** The window's time: a clock that was set back must not put new entries before old ones. */
  now(clockMs: number): number {
    if (this.#entries.size === 0) return clockMs;
    if (this.#newestMs > clockMs + WINDOW_MS) this.#pullBack(clockMs);
    return Math.max(clockMs, this.#newestMs);
  }

  /** Drops the entries that are 60 seconds old and answers how many. Call it with now() before anything else is asked. */
  dropExpired(nowMs: number): number {
    if (this.#oldestMs > nowMs - WINDOW_MS) return 0;
    let dropped = 0;
    this.#oldestMs = Number.POSITIVE_INFINITY;
    for (const [requestId, enteredMs] of this.#entries) {
      if (enteredMs > nowMs - WINDOW_MS) {
        this.#oldestMs = enteredMs;
        break;
      }
      this.#entries.delete(requestId);
      dropped += 1;
    }
    return dropped;
  }

  has(requestId: string): boolean {
    return this.#entries.has(requestId);
  }

  take(requestId: string, nowMs: number): void {
    this.#entries.set(requestId, nowMs);
    this.#newestMs = nowMs;
    if (nowMs < this.#oldestMs) this.#oldestMs = nowMs;
  }

  /** Puts an entry where it belongs in time. False, and nothing changes, when the request has one already. */
  insert(requestId: string, enteredMs: number): boolean {
    if (this.#entries.has(requestId)) return false;
    const isNewest = this.#entries.size === 0 || enteredMs >= this.#newestMs;
    if (isNewest) {
      this.take(requestId, enteredMs);
    } else {
      this.#entries = inOrder([...this.#entries, [requestId, enteredMs]]);
      this.#oldestMs = Math.min(this.#oldestMs, enteredMs);
    }
    return true;
  }

  /** The entries of that instant and of those after it: request ids, and when they entered. */
  entriesSince(fromMs: number): readonly (readonly [string, number])[] {
    if (this.#newestMs < fromMs) return [];
    return [...this.#entries].filter(([, enteredMs]) => enteredMs >= fromMs);
  }

  facts(limit: number): WindowFacts {
    const count = this.#entries.size;
    if (count === 0) return emptyWindow;
    const index = blockingIndex(count, limit);
    const blockingMs = index === undefined ? undefined : this.#entries.values().drop(index).next().value;
    return { count, newestMs: this.#newestMs, blockingMs };
  }

  isIdle(nowMs: number): boolean {
    return this.#newestMs + WINDOW_MS <= nowMs;
  }

  /**
   * The clock was set back by more than any lag of a replica. When the entries ahead of it were made is not known any more,
   * but not after now: they count as made now, and none of them holds a slot for longer than a minute.
   */
  #pullBack(clockMs: number): void {
    for (const [requestId, enteredMs] of this.#entries) {
      if (enteredMs > clockMs) this.#entries.set(requestId, clockMs);
    }
    this.#newestMs = clockMs;
    this.#oldestMs = Math.min(this.#oldestMs, clockMs);
  }
}

function inOrder(entries: readonly (readonly [string, number])[]): Map<string, number> {
  return new Map(entries.toSorted(([, a], [, b]) => a - b));
}
