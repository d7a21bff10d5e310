import { WINDOW_MS } from './decide.ts';
import type { OwnAdmission } from './limit-store.ts';
import type { LimitedKey } from './limited-key.ts';
import type { MeterState } from './meter.ts';

/**
 * A request that took its slot at this instant or, with `isReturned`, returned it then because it
 * was refused after all.
 */
export interface Admission extends LimitedKey {
  readonly requestId: string;
  readonly enteredMs: number;
  readonly isReturned?: boolean;
}

type Entry = Omit<Admission, keyof LimitedKey>;

/**
 * The exact log of one key's admissions. Entries are request ids, so a repeated request does not
 * count twice.
 */
export class MinuteWindow {
  /** Ordered by time, the oldest first. */
  #entries: Entry[] = [];
  /**
   * How many entries at the start have expired. Removing them one by one would move all others each
   * time.
   */
  #expiredCount = 0;
  readonly #requestIds = new Set<string>();
  /** When requests returned their slots: admissions that are recorded later take none. */
  readonly #returnedMs = new Map<string, number>();

  get size(): number {
    return this.#requestIds.size;
  }

  /** How many requests entered until then. */
  sizeUntil(untilMs: number): number {
    return this.#newestMs <= untilMs ? this.size : this.entries.filter(({ enteredMs }) => enteredMs <= untilMs).length;
  }

  /** When each request entered, ordered by time. */
  get entries(): readonly Entry[] {
    return this.#entries.slice(this.#expiredCount);
  }

  /** Which requests returned their slots in the last minute. */
  returned(clockMs: number): readonly Entry[] {
    return [...this.#returnedMs]
      .filter(([requestId]) => this.#hasReturned(requestId, clockMs))
      .map(([requestId, enteredMs]) => ({ requestId, enteredMs, isReturned: true }));
  }

  /**
   * Drops entries that are 60 seconds old and returns the window's time: the clock's time, but
   * never before the newest entry.
   */
  advance(clockMs: number): number {
    if (this.#newestMs > clockMs + WINDOW_MS) this.#pullBack(clockMs);
    const nowMs = Math.max(clockMs, this.#newestMs);
    for (
      let oldest = this.#entries[this.#expiredCount];
      oldest !== undefined && oldest.enteredMs <= nowMs - WINDOW_MS;
    ) {
      this.#requestIds.delete(oldest.requestId);
      this.#expiredCount += 1;
      oldest = this.#entries[this.#expiredCount];
    }
    if (this.#expiredCount * 2 > this.#entries.length) this.#replace(this.entries);
    return nowMs;
  }

  has(requestId: string): boolean {
    return this.#requestIds.has(requestId);
  }

  /** Adds a request that has no entry. `nowMs` is the result of `advance`. */
  take(requestId: string, nowMs: number): void {
    this.#requestIds.add(requestId);
    this.#entries.push({ requestId, enteredMs: nowMs });
  }

  /**
   * Inserts requests that were admitted elsewhere at their places in time, and removes those that
   * returned their slots. Other entries stay as they are.
   */
  record(admissions: readonly Omit<OwnAdmission, keyof LimitedKey>[], clockMs: number): void {
    this.advance(clockMs);
    let isSorted = true;
    for (const { requestId, ageMs, isReturned } of admissions) {
      if (ageMs >= WINDOW_MS) continue;
      const enteredMs = clockMs - ageMs;
      if (isReturned === true) this.giveBack(requestId, enteredMs);
      if (this.has(requestId) || this.#hasReturned(requestId, clockMs)) continue;
      isSorted &&= enteredMs >= this.#newestMs;
      this.take(requestId, enteredMs);
    }
    if (!isSorted) this.#replace(this.entries.toSorted((one, other) => one.enteredMs - other.enteredMs));
    this.advance(clockMs);
  }

  release(requestId: string): void {
    if (!this.#requestIds.delete(requestId)) return;
    // The entry is among the newest, so the search starts at the end.
    const index = this.#entries.findLastIndex((entry) => entry.requestId === requestId);
    this.#entries.splice(index, 1);
    // What is left has expired, and is not the newest entry.
    if (this.size === 0) this.#replace([]);
  }

  /** Returns the slot of a request that was refused after all, wherever it was admitted. */
  giveBack(requestId: string, clockMs: number): void {
    this.release(requestId);
    this.#returnedMs.delete(requestId);
    this.#returnedMs.set(requestId, clockMs);
    const [oldest = requestId] = this.#returnedMs.keys();
    if (this.#returnedMs.size > mostReturned) this.#returnedMs.delete(oldest);
  }

  state(limit: number): MeterState {
    const freeing = this.#entries[this.#expiredCount + Math.max(0, this.size - limit)];
    const newestMs = this.#entries.at(-1)?.enteredMs;
    return { used: this.size, reserved: 0, newestMs, freeingMs: freeing?.enteredMs };
  }

  #hasReturned(requestId: string, clockMs: number): boolean {
    return Math.abs(clockMs - (this.#returnedMs.get(requestId) ?? Number.NEGATIVE_INFINITY)) < WINDOW_MS;
  }

  /** Minus infinity for an empty window. */
  get #newestMs(): number {
    return this.#entries.at(-1)?.enteredMs ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * Handles a clock that was set back by more than replicas can lag. When the entries ahead of the
   * clock were made is unknown, but it was not after now. They count as made now, so that none of
   * them holds a slot for longer than a minute.
   */
  #pullBack(clockMs: number): void {
    this.#replace(this.entries.map((entry) => ({ ...entry, enteredMs: Math.min(entry.enteredMs, clockMs) })));
  }

  #replace(entries: readonly Entry[]): void {
    this.#entries = [...entries];
    this.#expiredCount = 0;
  }
}

/** A window forgets earlier returns: a replica that tells of the request takes its slot again. */
const mostReturned = 1_000;
