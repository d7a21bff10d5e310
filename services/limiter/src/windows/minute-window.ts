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
  readonly #entries = new Map<string, number>();
  #newestMs = Number.NEGATIVE_INFINITY;

  /** The window's time: a clock that was set back must not put new entries before old ones. */
  now(clockMs: number): number {
    return this.#entries.size === 0 ? clockMs : Math.max(clockMs, this.#newestMs);
  }

  /** Drops the entries that are 60 seconds old. Call it with now() before anything else is asked. */
  dropExpired(nowMs: number): void {
    for (const [requestId, enteredMs] of this.#entries) {
      if (enteredMs > nowMs - WINDOW_MS) return;
      this.#entries.delete(requestId);
    }
  }

  has(requestId: string): boolean {
    return this.#entries.has(requestId);
  }

  take(requestId: string, nowMs: number): void {
    this.#entries.set(requestId, nowMs);
    this.#newestMs = nowMs;
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
}
