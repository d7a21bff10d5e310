import { epochMs } from '@gateway/time';
import { LRUCache } from 'lru-cache';

/**
 * Amounts by request id that expire: leases of running requests, or what they have reserved.
 */
export class ExpiringAmounts {
  readonly #ttlMs: number;
  readonly #entries = new Map<string, { readonly amount: number; readonly expiresAtMs: number }>();
  #sum = 0;

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  get sum(): number {
    return this.#sum;
  }

  get size(): number {
    return this.#entries.size;
  }

  get ids(): readonly string[] {
    return [...this.#entries.keys()];
  }

  has(requestId: string): boolean {
    return this.#entries.has(requestId);
  }

  amountOf(requestId: string): number {
    return this.#entries.get(requestId)?.amount ?? 0;
  }

  /**
   * Drops what has expired. An entry that lies ahead of a clock that was set back counts as made
   * now, so that it is not kept for longer than its time.
   */
  advance(nowMs: number): void {
    for (const [requestId, { amount, expiresAtMs }] of this.#entries) {
      if (expiresAtMs <= nowMs) this.delete(requestId);
      else if (expiresAtMs > nowMs + this.#ttlMs) this.set(requestId, amount, nowMs);
    }
  }

  /** Keeps an amount for the whole time from now on. */
  set(requestId: string, amount: number, nowMs: number): void {
    this.#sum += amount - this.amountOf(requestId);
    this.#entries.set(requestId, { amount, expiresAtMs: nowMs + this.#ttlMs });
  }

  delete(requestId: string): void {
    this.#sum -= this.amountOf(requestId);
    this.#entries.delete(requestId);
  }
}

/** Amounts of many names, bounded in memory: beyond it the least recently used are forgotten. */
export class ExpiringAmountsByName {
  readonly #ttlMs: number;
  readonly #amounts: LRUCache<string, ExpiringAmounts>;

  constructor(maxSize: number, ttlMs: number) {
    this.#ttlMs = ttlMs;
    const time = { ttl: ttlMs, ttlResolution: 0, perf: { now: epochMs } };
    this.#amounts = new LRUCache({ ...time, maxSize, sizeCalculation: () => 1 });
  }

  /** Those of a name, without expired ones. They are not kept yet if there are none. */
  open(name: string, nowMs = epochMs()): ExpiringAmounts {
    const amounts = this.#amounts.get(name) ?? new ExpiringAmounts(this.#ttlMs);
    amounts.advance(nowMs);
    return amounts;
  }

  set(name: string, requestId: string, amount: number): void {
    const nowMs = epochMs();
    const amounts = this.open(name, nowMs);
    amounts.set(requestId, amount, nowMs);
    this.#amounts.set(name, amounts);
  }

  delete(name: string, requestId: string): void {
    this.#amounts.get(name)?.delete(requestId);
  }

  purgeStale(): void {
    this.#amounts.purgeStale();
  }
}
