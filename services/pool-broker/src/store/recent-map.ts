import type { Clock } from '@gateway/time';
import { Chain, type Link, linkOf } from './chain.ts';

/** A map whose entries end by themselves, and whose oldest entries make room when it is full. */
export class RecentMap<V> {
  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #links = new Map<string, Link<Entry<V>>>();
  /** The entry set longest ago comes first. */
  readonly #chain = new Chain<Entry<V>>();

  constructor(clock: Clock, capacity: number) {
    this.#clock = clock;
    this.#capacity = capacity;
  }

  get(key: string): V | undefined {
    const link = this.#links.get(key);
    if (link === undefined) return undefined;
    if (this.#clock.nowMs() < link.item.endsMs) return link.item.value;
    this.#drop(link);
    return undefined;
  }

  /** Sets an entry, which becomes the newest. One that is there is used again: sessions are bound with each of their requests. */
  set(key: string, value: V, ttlMs: number): void {
    const nowMs = this.#clock.nowMs();
    const known = this.#links.get(key);
    if (known !== undefined) this.#chain.remove(known);
    const link = known ?? linkOf({ key, value, endsMs: 0 });
    link.item.value = value;
    link.item.endsMs = nowMs + ttlMs;
    if (known === undefined) {
      this.#makeRoom(nowMs);
      this.#links.set(key, link);
    }
    this.#chain.add(link);
  }

  delete(key: string): void {
    const link = this.#links.get(key);
    if (link !== undefined) this.#drop(link);
  }

  #makeRoom(nowMs: number): void {
    for (let { oldest } = this.#chain; oldest !== undefined; { oldest } = this.#chain) {
      if (nowMs < oldest.item.endsMs && this.#links.size < this.#capacity) return;
      this.#drop(oldest);
    }
  }

  #drop(link: Link<Entry<V>>): void {
    this.#links.delete(link.item.key);
    this.#chain.remove(link);
  }
}

interface Entry<V> {
  readonly key: string;
  value: V;
  endsMs: number;
}
