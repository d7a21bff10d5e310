import { epochMs } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { dayForgottenAtMs } from './decide.ts';
import { comparedTokens, type LedgerTotal, type ReloadedCounter } from './limit-store.ts';
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

/** A counter of one process: the ledger's total, and what the ledger does not have yet. */
class Counter {
  readonly #maxPendingIds: number;
  /** The part that the ledger has; undefined until its total is loaded or raised. */
  #base: number | undefined;
  /** The latest total of the ledger; undefined if the base is what a replica saw. */
  #total: number | undefined;
  /** The part beyond the base. */
  #settled = 0;
  /** The settled requests that the ledger will record: amounts by request. */
  readonly #pending = new Map<string, number>();

  constructor(maxPendingIds: number) {
    this.#maxPendingIds = maxPendingIds;
  }

  get used(): number {
    return (this.#base ?? 0) + this.#settled;
  }

  /** The last total that was loaded, set or raised: what came after it is not in it. */
  get known(): number | undefined {
    return this.#base;
  }

  get isLoaded(): boolean {
    return this.#total !== undefined;
  }

  get pendingIds(): readonly string[] {
    return [...this.#pending.keys()];
  }

  isPending(requestId: string): boolean {
    return this.#pending.has(requestId);
  }

  /** Adds a request that was not added before. */
  add(requestId: string, amount: number, hasLedger: boolean): void {
    this.#settled = plus(this.#settled, amount);
    if (hasLedger && this.#pending.size < this.#maxPendingIds) this.#pending.set(requestId, amount);
  }

  /**
   * Raises the counter to a total that was known. Pending requests without a total came after it
   * was lost, and come on top. Any next total of the ledger counts, and is waited for.
   */
  raise(total: number): void {
    if (this.#base !== undefined && this.used >= total) return;
    const isLost = this.#base === undefined && this.#pending.size > 0;
    this.#base = isLost ? total : Math.max(0, total - this.#settled);
    this.#total = undefined;
  }

  /** Sets the total, whatever it was. */
  set(total: number): void {
    this.#base = total;
    this.#total = total;
    this.#settled = 0;
    this.#pending.clear();
  }

  reload({ totalTokens, includedIds, missingIds, force = false, isTentative = false }: LedgerTotal): ReloadedCounter {
    const usedTokens = this.used;
    const usedTokensBefore = this.isLoaded ? usedTokens : undefined;
    if (!force && totalTokens < (this.#total ?? 0)) {
      return { usedTokensBefore, usedTokensAfter: usedTokens, pendingTokens: this.#settled, unaskedTokens: 0 };
    }
    for (const requestId of includedIds) this.#pending.delete(requestId);
    const asked = new Set(missingIds);
    const unasked = this.#pending.entries().filter(([id]) => !asked.has(id));
    const unaskedTokens = unasked.map(([, amount]) => amount).reduce(plus, 0);
    if (!this.isLoaded && isTentative && unaskedTokens > 0) {
      return { usedTokensBefore, usedTokensAfter: usedTokens, pendingTokens: this.#settled, unaskedTokens };
    }
    this.#total = totalTokens;
    if (usedTokensBefore === undefined || force || this.#pending.size * 2 <= this.#maxPendingIds) {
      this.#settled = this.#pending.values().reduce(plus, 0);
      this.#base = comparedTokens(usedTokensBefore, totalTokens, this.#settled, unaskedTokens) - this.#settled;
    }
    return { usedTokensBefore, usedTokensAfter: this.used, pendingTokens: this.#settled, unaskedTokens };
  }
}

/** Saturates at the largest safe integer. */
function plus(counted: number, amount: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, counted + amount);
}
