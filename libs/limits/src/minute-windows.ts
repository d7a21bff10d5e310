import { epochMs } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { WINDOW_MS } from './decide.ts';
import type { OwnAdmission } from './limit-store.ts';
import { keyNamed, type LimitedKey, nameOf } from './limited-key.ts';
import { type Admission, MinuteWindow } from './minute-window.ts';

export interface MinuteWindowsOptions {
  /** Beyond it the least recently used windows are reset. */
  readonly maxKeys: number;
  /** How many admissions windows may hold before admissions of others are no longer recorded. */
  readonly maxRecorded: number;
  /** Called for each slot that a request takes here. */
  readonly onAdmitted: (admission: Admission) => void;
  /** Called for each slot that a refused request returns, wherever it took it. */
  readonly onReturned: (admission: Admission) => void;
}

/** The windows of many keys, bounded in memory. */
export class MinuteWindows {
  readonly #options: MinuteWindowsOptions;
  readonly #windows: LRUCache<string, MinuteWindow>;
  /** The number of entries in all windows. */
  #admissions = 0;

  constructor(options: MinuteWindowsOptions) {
    this.#options = options;
    this.#windows = new LRUCache({
      ttlResolution: 0,
      perf: { now: epochMs },
      // Bounded by size instead of `max`, because `max` allocates all memory up front.
      maxSize: options.maxKeys,
      sizeCalculation: () => 1,
      dispose: ({ size }) => {
        this.#admissions -= size;
      },
    });
  }

  get size(): number {
    return this.#windows.size;
  }

  /** The window of a key, without expired entries, and its time. A decision has one instant. */
  open(key: LimitedKey, clockMs: number): { readonly window: MinuteWindow; readonly nowMs: number } {
    const window = this.#windows.get(nameOf(key)) ?? new MinuteWindow();
    return { window, nowMs: this.#change(window, () => window.advance(clockMs)) };
  }

  take({ key, groupKey }: LimitedKey, requestId: string, window: MinuteWindow, nowMs: number): void {
    this.#change(window, () => window.take(requestId, nowMs));
    this.#keep(nameOf({ key, groupKey }), window);
    this.#options.onAdmitted({ key, groupKey, requestId, enteredMs: nowMs });
  }

  /** Adds requests that were admitted elsewhere, as long as there is room. */
  record(admissions: readonly OwnAdmission[]): void {
    const some = admissions.slice(0, Math.max(0, this.#options.maxRecorded - this.#admissions));
    for (const [name, ofKey] of Map.groupBy(some, nameOf)) {
      const window = this.#windows.get(name) ?? new MinuteWindow();
      this.#change(window, () => window.record(ofKey, epochMs()));
      this.#keep(name, window);
    }
  }

  release(key: LimitedKey, requestId: string): void {
    const window = this.#windows.get(nameOf(key));
    if (window !== undefined) this.#change(window, () => window.release(requestId));
  }

  /** Returns the slot of a request that was refused after all, wherever it was admitted. */
  giveBack({ key, groupKey }: LimitedKey, requestId: string): void {
    const enteredMs = epochMs();
    const { window } = this.open({ key, groupKey }, enteredMs);
    this.#change(window, () => window.giveBack(requestId, enteredMs));
    this.#keep(nameOf({ key, groupKey }), window);
    this.#options.onReturned({ key, groupKey, requestId, enteredMs, isReturned: true });
  }

  /** What was admitted in the last minute, here or elsewhere, and what was returned. */
  get admissions(): readonly Admission[] {
    const clockMs = epochMs();
    return [...this.#windows].flatMap(([name, window]) =>
      [...window.entries, ...window.returned(clockMs)].map((entry) => ({ ...keyNamed(name), ...entry })),
    );
  }

  purgeStale(): void {
    this.#windows.purgeStale();
  }

  #change<T>(window: MinuteWindow, change: () => T): T {
    const before = window.size;
    const result = change();
    this.#admissions += window.size - before;
    return result;
  }

  /** Keeps a window until its newest entry, which may be ahead of the clock, is a minute old. */
  #keep(name: string, window: MinuteWindow): void {
    const clockMs = epochMs();
    const nowMs = this.#change(window, () => window.advance(clockMs));
    this.#windows.set(name, window, { ttl: nowMs - clockMs + WINDOW_MS });
  }
}
