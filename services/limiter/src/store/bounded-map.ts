export interface BoundedMapOptions<V> {
  /** Above it the least recently used entry goes. */
  readonly maxEntries: number;
  /** Whether an entry holds nothing worth keeping at that time. */
  readonly isIdle: (value: V, nowMs: number) => boolean;
  /** Is told of each value that the map gives up by itself. */
  readonly onForgotten?: (value: V) => void;
}

/**
 * A map in order of last use that forgets idle entries a few at a time, as it is used: no timer, no long sweep. Its entries
 * are chained, because taking one out of a Map and putting it back, to make it the last, costs several times as much.
 */
export class BoundedMap<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #options: BoundedMapOptions<V>;
  /** The least and the most recently used. */
  #first: Entry<V> | undefined;
  #last: Entry<V> | undefined;

  constructor(options: BoundedMapOptions<V>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value, which becomes the most recently used. */
  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#moveToEnd(entry);
    return entry.value;
  }

  set(key: string, value: V): void {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.value = value;
      this.#moveToEnd(known);
      return;
    }
    const entry: Entry<V> = { key, value, before: undefined, after: undefined };
    this.#entries.set(key, entry);
    this.#append(entry);
    if (this.#entries.size > this.#options.maxEntries && this.#first !== undefined) this.#forget(this.#first);
  }

  clear(): void {
    this.#entries.clear();
    this.#first = undefined;
    this.#last = undefined;
  }

  /** Drops idle entries from the least recently used end until one is still needed. */
  forgetIdle(nowMs: number): void {
    while (this.#first !== undefined && this.#options.isIdle(this.#first.value, nowMs)) this.#forget(this.#first);
  }

  /** The entries, the least recently used first. */
  *[Symbol.iterator](): Generator<readonly [string, V]> {
    for (let entry = this.#first; entry !== undefined; entry = entry.after) yield [entry.key, entry.value];
  }

  #forget(entry: Entry<V>): void {
    this.#entries.delete(entry.key);
    this.#unchain(entry);
    this.#options.onForgotten?.(entry.value);
  }

  #moveToEnd(entry: Entry<V>): void {
    if (entry === this.#last) return;
    this.#unchain(entry);
    this.#append(entry);
  }

  #append(entry: Entry<V>): void {
    entry.before = this.#last;
    if (this.#last === undefined) this.#first = entry;
    else this.#last.after = entry;
    this.#last = entry;
  }

  #unchain(entry: Entry<V>): void {
    if (entry.before === undefined) this.#first = entry.after;
    else entry.before.after = entry.after;
    if (entry.after === undefined) this.#last = entry.before;
    else entry.after.before = entry.before;
    entry.before = undefined;
    entry.after = undefined;
  }
}

interface Entry<V> {
  readonly key: string;
  value: V;
  before: Entry<V> | undefined;
  after: Entry<V> | undefined;
}
