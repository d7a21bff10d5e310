export interface BoundedMapOptions<V> {
  /** Above it the least recently used entry goes. */
  readonly maxEntries: number;
  /** Whether an entry holds nothing worth keeping at that time. */
  readonly isIdle: (value: V, nowMs: number) => boolean;
  /** Is told of each value that the map gives up by itself. */
  readonly onForgotten?: (value: V) => void;
}

/** A map in order of last use that forgets idle entries a few at a time, as it is used: no timer, no long sweep. */
export class BoundedMap<V> {
  readonly #entries = new Map<string, V>();
  readonly #options: BoundedMapOptions<V>;

  constructor(options: BoundedMapOptions<V>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value, which becomes the most recently used. */
  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#options.maxEntries) this.#dropOldest();
  }

  clear(): void {
    this.#entries.clear();
  }

  /** Drops idle entries from the least recently used end until one is still needed. */
  forgetIdle(nowMs: number): void {
    for (const [key, value] of this.#entries) {
      if (!this.#options.isIdle(value, nowMs)) return;
      this.#forget(key, value);
    }
  }

  [Symbol.iterator](): Iterator<[string, V]> {
    return this.#entries[Symbol.iterator]();
  }

  #dropOldest(): void {
    for (const [key, value] of this.#entries) {
      this.#forget(key, value);
      return;
    }
  }

  #forget(key: string, value: V): void {
    this.#entries.delete(key);
    this.#options.onForgotten?.(value);
  }
}
