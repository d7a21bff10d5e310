/** A place in a chain: made once for an item, and used again whenever the item joins the chain. */
export interface Link<T> {
  readonly item: T;
  before: Link<T> | undefined;
  after: Link<T> | undefined;
}

export function linkOf<T>(item: T): Link<T> {
  return { item, before: undefined, after: undefined };
}

/** Items in the order in which they were added. Adding one and taking one out allocates nothing. */
export class Chain<T> {
  #oldest: Link<T> | undefined;
  #newest: Link<T> | undefined;

  get oldest(): Link<T> | undefined {
    return this.#oldest;
  }

  /** Adds a link that is in no chain as the newest. */
  add(link: Link<T>): void {
    link.before = this.#newest;
    link.after = undefined;
    if (this.#newest === undefined) this.#oldest = link;
    else this.#newest.after = link;
    this.#newest = link;
  }

  /** Takes out a link that is in this chain. */
  remove(link: Link<T>): void {
    const { before, after } = link;
    if (before === undefined) this.#oldest = after;
    else before.after = after;
    if (after === undefined) this.#newest = before;
    else after.before = before;
    link.before = undefined;
    link.after = undefined;
  }

  /** The items, the oldest first. */
  *items(): Generator<T> {
    for (let link = this.#oldest; link !== undefined; link = link.after) yield link.item;
  }
}
