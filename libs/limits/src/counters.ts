import { epochMs } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { Counter } from './counter.ts';
import { dayForgottenAtMs } from './decide.ts';
import { type CounterName, counterName, type KnownTotal } from './limited-key.ts';

export interface CountersOptions {
  /** Beyond it the least recently used counters are forgotten. */
  readonly maxKeys: number;
  readonly maxPendingIds: number;
}

/** Counters by name, each until its day or period no longer matters. */
export class Counters {
  readonly #options: CountersOptions;
  readonly #counters: LRUCache<string, { readonly name: CounterName; readonly counter: Counter }>;

  constructor(options: CountersOptions) {
    this.#options = options;
    const time = { ttlResolution: 0, perf: { now: epochMs } };
    // Bounded by size instead of `max`, because `max` allocates all memory up front.
    this.#counters = new LRUCache({ ...time, maxSize: options.maxKeys, sizeCalculation: () => 1 });
  }

  get size(): number {
    return this.#counters.size;
  }

  get(name: CounterName): Counter | undefined {
    return this.#counters.get(counterName(name))?.counter;
  }

  open(name: CounterName): Counter {
    const known = this.get(name);
    if (known !== undefined) return known;
    const counter = new Counter(this.#options.maxPendingIds);
    const ttl = Math.max(1, dayForgottenAtMs(name.span.lastDay) - epochMs());
    this.#counters.set(counterName(name), { name, counter }, { ttl });
    return counter;
  }

  /** The totals that were loaded, set or raised last, of these counters or of all. */
  known(names: readonly CounterName[] = [...this.#counters.values()].map(({ name }) => name)): readonly KnownTotal[] {
    return names.flatMap((name) => {
      const total = this.get(name)?.known;
      return total === undefined ? [] : [{ counter: name, total }];
    });
  }

  purgeStale(): void {
    this.#counters.purgeStale();
  }
}
