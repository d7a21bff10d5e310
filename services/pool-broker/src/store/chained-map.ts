import { Chain, type Link, linkOf } from './chain.ts';

/**
 * A map in order of when its entries were set, that gives its oldest entry at once. A plain Map that loses its first entries
 * walks over their empty places whenever its first is asked for, which adds up to more than all the rest of a request.
 */
export class ChainedMap<V> {
  readonly #links = new Map<string, Link<Entry<V>>>();
  readonly #chain = new Chain<Entry<V>>();

  get size(): number {
    return this.#links.size;
  }

  get oldest(): { readonly key: string; readonly value: V } | undefined {
    return this.#chain.oldest?.item;
  }

  has(key: string): boolean {
    return this.#links.has(key);
  }

  get(key: string): V | undefined {
    return this.#links.get(key)?.item.value;
  }

  /** Sets an entry, which becomes the newest. One that is there is used again. */
  set(key: string, value: V): void {
    const known = this.#links.get(key);
    if (known !== undefined) {
      known.item.value = value;
      this.#chain.remove(known);
      this.#chain.add(known);
      return;
    }
    const link = linkOf({ key, value });
    this.#links.set(key, link);
    this.#chain.add(link);
  }

  /** False when there was none. */
  delete(key: string): boolean {
    const link = this.#links.get(key);
    if (link === undefined) return false;
    this.#links.delete(key);
    this.#chain.remove(link);
    return true;
  }

  /** The values, the oldest first. */
  *values(): Generator<V> {
    for (const { value } of this.#chain.items()) yield value;
  }
}

interface Entry<V> {
  readonly key: string;
  value: V;
}
