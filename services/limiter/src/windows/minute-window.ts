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

/** A request that took its slot so many milliseconds ago. */
export interface RecordedAdmission {
  readonly requestId: string;
  readonly ageMs: number;
}

/** The exact log of one key's admissions. Entries are request ids, so that the same request never counts twice. */
export class MinuteWindow {
  /** When each request entered, in order of time. */
  #entries = new Map<string, number>();
  #newestMs = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#entries.size;
  }

  /** Drops what is 60 seconds old and answers the window's time: the clock's, but never before the newest entry. */
  advance(clockMs: number): number {
    if (this.#entries.size === 0) return clockMs;
    if (this.#newestMs > clockMs + WINDOW_MS) this.#pullBack(clockMs);
    const nowMs = Math.max(clockMs, this.#newestMs);
    for (const [requestId, enteredMs] of this.#entries) {
      if (enteredMs > nowMs - WINDOW_MS) break;
      this.#entries.delete(requestId);
    }
    return nowMs;
  }

  has(requestId: string): boolean {
    return this.#entries.has(requestId);
  }

  /** Adds a request that has no entry. `nowMs` is what `advance` answered. */
  take(requestId: string, nowMs: number): void {
    this.#entries.set(requestId, nowMs);
    this.#newestMs = nowMs;
  }

  /** Adds requests that were admitted elsewhere, each where it belongs in time. Those that have an entry keep it. */
  record(admissions: readonly RecordedAdmission[], clockMs: number): void {
    this.advance(clockMs);
    let isSorted = true;
    for (const { requestId, ageMs } of admissions) {
      if (ageMs >= WINDOW_MS || this.#entries.has(requestId)) continue;
      const enteredMs = clockMs - ageMs;
      isSorted &&= this.#entries.size === 0 || enteredMs >= this.#newestMs;
      this.#newestMs = this.#entries.size === 0 ? enteredMs : Math.max(this.#newestMs, enteredMs);
      this.#entries.set(requestId, enteredMs);
    }
    if (!isSorted) this.#entries = new Map([...this.#entries].toSorted(([, one], [, other]) => one - other));
    this.advance(clockMs);
  }

  admissions(clockMs: number): readonly RecordedAdmission[] {
    return Array.from(this.#entries, ([requestId, enteredMs]) => ({
      requestId,
      ageMs: Math.max(0, clockMs - enteredMs),
    }));
  }

  facts(limit: number): WindowFacts {
    const count = this.#entries.size;
    if (count === 0) return emptyWindow;
    const leavingFirst = Math.max(0, count - limit);
    const freeingMs = limit === 0 ? undefined : this.#entries.values().drop(leavingFirst).next().value;
    return { count, newestMs: this.#newestMs, freeingMs };
  }

  /**
   * The clock was set back by more than any lag of a replica. When the entries ahead of it were made is not known any more,
   * but not after now: they count as made now, and none of them holds a slot for longer than a minute.
   */
  #pullBack(clockMs: number): void {
    for (const [requestId, enteredMs] of this.#entries) this.#entries.set(requestId, Math.min(enteredMs, clockMs));
    this.#newestMs = clockMs;
  }
}
