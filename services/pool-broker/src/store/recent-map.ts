import type { Clock } from '@gateway/time';
import { ChainedMap } from './chained-map.ts';

/** A map whose entries end by themselves, and whose oldest entries make room when it is full. */
export class RecentMap<V> {
  readonly #clock: Clock;
  readonly #capacity: number;
  /** The entry set longest ago comes first. */
  readonly #entries = new ChainedMap<{ readonly value: V; readonly endsMs: number }>();

  constructor(clock: Clock, capacity: number) {
    this.#clock = clock;
    this.#capacity = capacity;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (this.#clock.nowMs() < entry.endsMs) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: V, ttlMs: number): void {
    const nowMs = this.#clock.nowMs();
    this.#entries.delete(key);
    this.#makeRoom(nowMs);
    this.#entries.set(key, { value, endsMs: nowMs + ttlMs });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  #makeRoom(nowMs: number): void {
    for (let { oldest } = this.#entries; oldest !== undefined; { oldest } = this.#entries) {
      if (nowMs < oldest.value.endsMs && this.#entries.size < this.#capacity) return;
      this.#entries.delete(oldest.key);
    }
  }
}
