/** A queue of bounded length in one array: nothing moves when its head is taken. */
export class FifoQueue<T> {
  readonly #slots: (T | undefined)[];
  #head = 0;
  #size = 0;

  constructor(capacity: number) {
    this.#slots = new Array<T | undefined>(capacity).fill(undefined);
  }

  get size(): number {
    return this.#size;
  }

  /** The queue must not be full. */
  push(item: T): void {
    this.#slots[(this.#head + this.#size) % this.#slots.length] = item;
    this.#size += 1;
  }

  /** Takes the oldest item. */
  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#slots[this.#head];
    this.#slots[this.#head] = undefined;
    this.#head = (this.#head + 1) % this.#slots.length;
    this.#size -= 1;
    return item;
  }

  *newestFirst(): Generator<T> {
    for (let back = this.#size - 1; back >= 0; back--) {
      const item = this.#slots[(this.#head + back) % this.#slots.length];
      if (item !== undefined) yield item;
    }
  }
}
