import { hash } from 'node:crypto';

/**
 * Chance from a seed. Each name has a stream of its own, so that one more draw in one part of the
 * simulation does not shift the draws of all others.
 */
export class Seeded {
  readonly #seed: string;
  readonly #streams = new Map<string, Chance>();

  constructor(seed: string | number) {
    this.#seed = String(seed);
  }

  /** The stream of this name. The same name gives the same stream. */
  of(name: string): Chance {
    return this.#streams.getOrInsertComputed(name, () => new Chance(`${this.#seed}/${name}`));
  }
}

/** One stream of random numbers: sfc32, whose state comes from a digest of the stream's name. */
export class Chance {
  readonly #state: Uint32Array;

  constructor(name: string) {
    this.#state = new Uint32Array(Uint8Array.from(hash('sha256', name, 'buffer').subarray(0, 16)).buffer);
  }

  /** From 0 to below 1. */
  next(): number {
    return this.#uint32() / 2 ** 32;
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** True in this share of all draws. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const picked = items[this.between(0, items.length - 1)];
    if (picked === undefined) throw new Error('There is nothing to pick from.');
    return picked;
  }

  /** The pause until the next of events that come at random, with this mean. */
  pauseMs(meanMs: number): number {
    return -Math.log(1 - this.next()) * meanMs;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Uint8Array.from({ length }, () => this.#uint32() & 0xff));
  }

  #uint32(): number {
    const state = this.#state;
    const [a = 0, b = 0, c = 0, counter = 0] = state;
    const result = (a + b + counter) >>> 0;
    state[3] = counter + 1;
    state[0] = b ^ (b >>> 9);
    state[1] = c + (c << 3);
    state[2] = ((c << 21) | (c >>> 11)) + result;
    return result;
  }
}
