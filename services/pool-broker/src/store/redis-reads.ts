import type { Redis } from 'ioredis';
import { countLeasesScript } from './redis-scripts.ts';
import { runScript } from './run-script.ts';

/**
 * Reads what the requests of one tick want to know in one command of a kind, however many they are: they ask about the same
 * few accounts and pools.
 */
export class RedisReads {
  readonly #redis: Redis;
  #texts: Reading<readonly (string | null)[]> | undefined;
  readonly #counts = new Map<number, Reading<readonly number[]>>();

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /** What a key holds; null for nothing. */
  async text(key: string): Promise<string | null> {
    this.#texts ??= new Reading((keys) => {
      this.#texts = undefined;
      return this.#redis.mget(...keys);
    });
    const reading = this.#texts;
    const place = reading.placeOf(key);
    return (await reading.answers)[place] ?? null;
  }

  /** How many leases of a set were taken after a moment. */
  async leases(key: string, afterMs: number): Promise<number> {
    const reading = this.#counts.get(afterMs) ?? this.#beginCount(afterMs);
    const place = reading.placeOf(key);
    return (await reading.answers)[place] ?? 0;
  }

  #beginCount(afterMs: number): Reading<readonly number[]> {
    const reading = new Reading(async (keys) => {
      this.#counts.delete(afterMs);
      const counts = await runScript(this.#redis, countLeasesScript, keys, [afterMs]);
      return Array.isArray(counts) ? counts.map(Number) : [];
    });
    this.#counts.set(afterMs, reading);
    return reading;
  }
}

/** Keys that are read together at the end of a tick, each once. */
class Reading<A> {
  readonly answers: Promise<A>;
  readonly #places = new Map<string, number>();

  constructor(read: (keys: readonly string[]) => Promise<A>) {
    this.answers = new Promise((resolve, reject) => {
      process.nextTick(() => read([...this.#places.keys()]).then(resolve, reject));
    });
  }

  placeOf(key: string): number {
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const place = this.#places.size;
    this.#places.set(key, place);
    return place;
  }
}
