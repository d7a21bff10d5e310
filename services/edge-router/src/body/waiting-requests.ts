/** A request that waits for bytes. */
export interface Waiter {
  readonly tokenId: string;
  /** The number of its request: an older one has a smaller number. */
  readonly number: number;
  readonly bytes: number;
  readonly grant: () => void;
  readonly refuse: () => void;
}

/**
 * Requests that wait for room. Finding the next one costs the same however many wait: each token
 * has a queue, oldest first, and only the first of a queue can be next. Queues whose first request
 * stays within its token's share are sorted by these first requests.
 */
export class WaitingRequests {
  readonly #isWithinShare: (waiter: Waiter) => boolean;
  readonly #queues = new Map<string, TokenQueue>();
  readonly #withinShare = new Ascending<TokenQueue>();
  /** There are few, because each of these tokens has used nearly its whole share. */
  readonly #beyondShare = new Set<TokenQueue>();

  constructor(isWithinShare: (waiter: Waiter) => boolean) {
    this.#isWithinShare = isWithinShare;
  }

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  /** The oldest request that stays within its token's share. */
  get oldestWithinShare(): Waiter | undefined {
    return this.#withinShare.first?.waiters.first;
  }

  /** Requests that exceed their token's share: the oldest of each token. */
  get beyondShare(): IteratorObject<Waiter> {
    return this.#beyondShare.values().flatMap(({ waiters }) => (waiters.first === undefined ? [] : [waiters.first]));
  }

  add(waiter: Waiter): void {
    this.#change(waiter.tokenId, (waiters) => waiters.add(waiter));
  }

  delete(waiter: Waiter): void {
    this.#change(waiter.tokenId, (waiters) => waiters.delete(waiter));
  }

  /**
   * Call this when a token has taken or released bytes, because its waiting request may now be
   * within its share, or beyond it.
   */
  onTaken(tokenId: string): void {
    if (this.#queues.has(tokenId)) this.#change(tokenId, () => undefined);
  }

  #change(tokenId: string, change: (waiters: Ascending<Waiter>) => void): void {
    const queue = this.#queues.get(tokenId) ?? new TokenQueue();
    this.#withinShare.delete(queue);
    this.#beyondShare.delete(queue);
    change(queue.waiters);
    const { first } = queue.waiters;
    if (first === undefined) this.#queues.delete(tokenId);
    else this.#queues.set(tokenId, queue);
    if (first === undefined) return;
    if (this.#isWithinShare(first)) this.#withinShare.add(queue);
    else this.#beyondShare.add(queue);
  }
}

/** The waiting requests of one token. */
class TokenQueue {
  readonly waiters = new Ascending<Waiter>();

  get number(): number {
    return this.waiters.first?.number ?? 0;
  }
}

/** Items sorted by their integer numbers, the smallest first. They mostly arrive in order. */
class Ascending<T extends { readonly number: number }> {
  readonly #items: T[] = [];

  get first(): T | undefined {
    return this.#items[0];
  }

  add(item: T): void {
    this.#items.splice(this.#placeOf(item.number + 1), 0, item);
  }

  delete(item: T): void {
    const place = this.#items.indexOf(item, this.#placeOf(item.number));
    if (place !== -1) this.#items.splice(place, 1);
  }

  /** The index of the first item with this number or a larger one. */
  #placeOf(number: number): number {
    let from = 0;
    let to = this.#items.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#items[middle]?.number ?? 0) < number) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
