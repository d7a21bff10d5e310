import { epochMs } from '@gateway/time';
import { LRUCache } from 'lru-cache';

/** The most events within a minute, for each name and over all names. */
export interface MinuteRateOptions {
  readonly mostOfName: number;
  readonly mostOverall: number;
}

/** Counts events in minutes that begin with the first event. */
export class MinuteRate {
  readonly #options: MinuteRateOptions;
  readonly #ofName: LRUCache<string, number>;
  readonly #overall: LRUCache<'', number>;

  constructor(options: MinuteRateOptions) {
    this.#options = options;
    const window = { ttl: 60_000, noUpdateTTL: true, ttlResolution: 0, perf: { now: epochMs } };
    this.#ofName = new LRUCache({ max: 10_000, ...window });
    this.#overall = new LRUCache({ max: 1, ...window });
  }

  /** Whether one more event is allowed. If so, it is counted. */
  take(name: string): boolean {
    const { mostOfName, mostOverall } = this.#options;
    const [ofName, overall] = [this.#ofName.get(name) ?? 0, this.#overall.get('') ?? 0];
    if (ofName >= mostOfName || overall >= mostOverall) return false;
    this.#ofName.set(name, ofName + 1);
    this.#overall.set('', overall + 1);
    return true;
  }

  /** The event was legitimate: it does not count. */
  giveBack(name: string): void {
    const [ofName, overall] = [this.#ofName.get(name) ?? 0, this.#overall.get('') ?? 0];
    if (ofName > 0) this.#ofName.set(name, ofName - 1);
    if (overall > 0) this.#overall.set('', overall - 1);
  }
}
