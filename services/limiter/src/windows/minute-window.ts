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
  readonly #ids = new Set<string>();
  /**
   * In order of time: now() never goes back behind the newest entry. What is before `#oldest` has left. A queue, because a Set
   * or Map that loses its first entries walks over their places whenever its first is asked for.
   */
  #queue: Entry[] = [];
  #oldest = 0;

  get size(): number {
    return this.#ids.size;
  }

  /** The window's time: a clock that was set back must not put new entries before old ones. */
  now(clockMs: number): number {
    if (this.#ids.size === 0) return clockMs;
    if (this.#newestMs > clockMs + WINDOW_MS) this.#pullBack(clockMs);
    return Math.max(clockMs, this.#newestMs);
  }

  /** Drops the entries that are 60 seconds old and answers how many. Call it with now() before anything else is asked. */
  dropExpired(nowMs: number): number {
    const before = this.#oldest;
    let oldest = this.#queue[before];
    while (oldest !== undefined && oldest.enteredMs <= nowMs - WINDOW_MS) {
      this.#ids.delete(oldest.requestId);
      this.#oldest += 1;
      oldest = this.#queue[this.#oldest];
    }
    const dropped = this.#oldest - before;
    if (this.#oldest > this.#ids.size) this.#shorten();
    return dropped;
  }

  has(requestId: string): boolean {
    return this.#ids.has(requestId);
  }

  take(requestId: string, nowMs: number): void {
    this.#ids.add(requestId);
    this.#queue.push({ requestId, enteredMs: nowMs });
  }

  /** Puts an entry where it belongs in time. False, and nothing changes, when the request has one already. */
  insert(requestId: string, enteredMs: number): boolean {
    if (this.#ids.has(requestId)) return false;
    const isNewest = this.#ids.size === 0 || enteredMs >= this.#newestMs;
    this.take(requestId, enteredMs);
    if (!isNewest) {
      this.#shorten();
      this.#queue.sort((one, other) => one.enteredMs - other.enteredMs);
    }
    return true;
  }

  /** The entries of that instant and of those after it: request ids, and when they entered. */
  entriesSince(fromMs: number): readonly (readonly [string, number])[] {
    if (this.#ids.size === 0 || this.#newestMs < fromMs) return [];
    const since = this.#queue.slice(this.#oldest).filter(({ enteredMs }) => enteredMs >= fromMs);
    return since.map(({ requestId, enteredMs }) => [requestId, enteredMs]);
  }

  facts(limit: number): WindowFacts {
    const count = this.#ids.size;
    if (count === 0) return emptyWindow;
    const index = blockingIndex(count, limit);
    const blockingMs = index === undefined ? undefined : this.#queue[this.#oldest + index]?.enteredMs;
    return { count, newestMs: this.#newestMs, blockingMs };
  }

  isIdle(nowMs: number): boolean {
    return this.#newestMs + WINDOW_MS <= nowMs;
  }

  get #newestMs(): number {
    return this.#queue.at(-1)?.enteredMs ?? Number.NEGATIVE_INFINITY;
  }

  /** Lets go of the places of entries that have left. */
  #shorten(): void {
    this.#queue = this.#queue.slice(this.#oldest);
    this.#oldest = 0;
  }

  /**
   * The clock was set back by more than any lag of a replica. When the entries ahead of it were made is not known any more,
   * but not after now: they count as made now, and none of them holds a slot for longer than a minute.
   */
  #pullBack(clockMs: number): void {
    for (const entry of this.#queue) entry.enteredMs = Math.min(entry.enteredMs, clockMs);
  }
}

interface Entry {
  readonly requestId: string;
  enteredMs: number;
}
