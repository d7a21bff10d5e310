/**
 * A map in order of when its entries were set, that gives its oldest entry at once. A plain Map that loses its first entries
 * walks over their empty places whenever its first is asked for, which adds up to more than all the rest of a request.
 */
export class ChainedMap<V> {
  readonly #entries = new Map<string, Entry<V>>();
  #oldest: Entry<V> | undefined;
  #newest: Entry<V> | undefined;

  get size(): number {
    return this.#entries.size;
  }

  get oldest(): { readonly key: string; readonly value: V } | undefined {
    return this.#oldest;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Sets an entry, which becomes the newest. */
  set(key: string, value: V): void {
    this.delete(key);
    const entry: Entry<V> = { key, value, before: this.#newest, after: undefined };
    this.#entries.set(key, entry);
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.after = entry;
    this.#newest = entry;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    const { before, after } = entry;
    if (before === undefined) this.#oldest = after;
    else before.after = after;
    if (after === undefined) this.#newest = before;
    else after.before = before;
  }

  /** The values, the oldest first. */
  *values(): Generator<V> {
    for (let entry = this.#oldest; entry !== undefined; entry = entry.after) yield entry.value;
  }
}

interface Entry<V> {
  readonly key: string;
  readonly value: V;
  before: Entry<V> | undefined;
  after: Entry<V> | undefined;
}
