import type { LocalDay } from '@gateway/time';
import { BoundedMap, type BoundedMapOptions } from './bounded-map.ts';

/**
 * Values by key and local day: a bounded map for each of the few days that anybody asks of. So a key is hashed once for all
 * that is looked up by it, and no text is put together of it and the day.
 */
export class DayMaps<V> {
  readonly #options: BoundedMapOptions<V>;
  readonly #days = new Map<LocalDay, BoundedMap<V>>();

  /** The options are those of each day's map. */
  constructor(options: BoundedMapOptions<V>) {
    this.#options = options;
  }

  get size(): number {
    let size = 0;
    for (const day of this.#days.values()) size += day.size;
    return size;
  }

  get(key: string, day: LocalDay): V | undefined {
    return this.#days.get(day)?.get(key);
  }

  set(key: string, day: LocalDay, value: V): void {
    const known = this.#days.get(day);
    const ofDay = known ?? new BoundedMap<V>(this.#options);
    if (known === undefined) this.#days.set(day, ofDay);
    ofDay.set(key, value);
  }

  /** Drops idle values from the least recently used end of each day until one is still needed. */
  forgetIdle(nowMs: number): void {
    let hasEmpty = false;
    for (const ofDay of this.#days.values()) {
      ofDay.forgetIdle(nowMs);
      hasEmpty ||= ofDay.size === 0;
    }
    // Days end once a day, and this is asked with every request.
    if (hasEmpty) this.#forgetEmpty();
  }

  #forgetEmpty(): void {
    for (const [day, ofDay] of this.#days) if (ofDay.size === 0) this.#days.delete(day);
  }

  *values(): Generator<V> {
    for (const [, , value] of this) yield value;
  }

  /** Keys and days with their values. */
  *[Symbol.iterator](): Generator<readonly [string, LocalDay, V]> {
    for (const [day, ofDay] of this.#days) for (const [key, value] of ofDay) yield [key, day, value];
  }
}
