/** Numbers that look random and are the same for the same seed. */
export class RandomNumbers {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, but not including, 1. */
  next(): number {
    // Mulberry32.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.between(0, from.length - 1)];
    if (picked === undefined) throw new Error('There is nothing to pick from.');
    return picked;
  }

  shuffled<T>(items: readonly T[]): readonly T[] {
    return items
      .map((item) => ({ item, rank: this.next() }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ item }) => item);
  }
}
