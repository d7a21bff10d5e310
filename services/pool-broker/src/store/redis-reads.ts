import type { RedisVerbs } from './redis-verbs.ts';

/**
 * Reads what the requests of one tick want to know with one verb of a kind, however many they are: they ask about the same
 * few accounts and pools.
 */
export class RedisReads {
  readonly #verbs: RedisVerbs;
  #texts: Reading<readonly (string | null)[]> | undefined;
  readonly #counts = new Map<number, Reading<readonly number[]>>();

  constructor(verbs: RedisVerbs) {
    this.#verbs = verbs;
  }

  /** What a key holds; null for nothing. */
  async text(key: string): Promise<string | null> {
    this.#texts ??= new Reading(async (keys) => {
      this.#texts = undefined;
      const texts = await this.#verbs.run('texts', keys, []);
      return Array.isArray(texts) ? texts.map((text) => (typeof text === 'string' ? text : null)) : [];
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
      const counts = await this.#verbs.run('count_leases', keys, [afterMs]);
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
