import { randomUUID } from 'node:crypto';
import { type LedgerTotal, MemoryLimitStore, type SettledTotals } from '@gateway/limits';
import { testBackends } from '@gateway/testkit';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { PlainStore } from './plain-store.ts';
import { openMemoryStore, openRedisStore } from './store-under-test.ts';

const isLong = process.env.FAULTS === 'long';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const day = '2026-11-20';

const requestId = fc.integer({ min: 0, max: 7 }).map((n) => `request-${n}`);
/** Several limiters reload a day concurrently, because pauses may end and operators ignore them. */
const limiter = fc.nat(2);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ verb: fc.constant('settle'), requestId }) },
  { weight: 4, arbitrary: fc.record({ verb: fc.constant('ingest'), requestId }) },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant('begin'), limiter }) },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant('read'), limiter }) },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant('finish'), limiter }) },
  {
    weight: 2,
    arbitrary: fc.record({ verb: fc.constant('wait'), waitMs: fc.constantFrom(1, 9_999, 10_000, 130_000) }),
  },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('forget') }) },
);
const schedule = fc.array(step, { minLength: 1, maxLength: 60, size: 'max' });
type Schedule = typeof schedule extends fc.Arbitrary<infer S> ? S : never;

/** Every request uses as many tokens as its number says, so that each is recognisable in a sum. */
const tokensOf = (id: string) => 2 ** Number(id.slice('request-'.length));

interface Counter {
  readonly store: Pick<PlainStore, 'settle' | 'pendingIds' | 'reloadDay'>;
  readonly key: string;
  readonly advanceMs: (ms: number) => void;
  /** Erases the store's memory. */
  readonly forget: () => Promise<unknown>;
}

interface Reload {
  pendingIds?: readonly string[];
  total?: LedgerTotal;
}

/** A ledger, and limiters that reload a day from it, step by step and in any order. */
class Reloads {
  readonly #counter: Counter;
  readonly #ledger = new Set<string>();
  readonly #settled = new Set<string>();
  readonly #open: readonly Reload[] = [{}, {}, {}];
  readonly #isTentative: boolean;

  /** @param isTentative a total that may include more than was asked about is not loaded. */
  constructor(counter: Counter, isTentative = false) {
    this.#counter = counter;
    this.#isTentative = isTentative;
  }

  async run(steps: Schedule): Promise<void> {
    for (const one of steps) {
      if (one.verb === 'settle') await this.#settle(one.requestId);
      if (one.verb === 'ingest') this.#ledger.add(one.requestId);
      if (one.verb === 'begin') await this.#begin(one.limiter);
      if (one.verb === 'read') this.#read(one.limiter);
      if (one.verb === 'finish') await this.#finish(one.limiter);
      if (one.verb === 'wait') this.#counter.advanceMs(one.waitMs);
      if (one.verb === 'forget') await this.#counter.forget();
    }
  }

  /**
   * Like `run`, but each request settles once, and reaches the ledger after that or without it.
   * Calls `look` after each step.
   */
  async runInOrder(steps: Schedule, look: (counted: SettledTotals, hasForgotten: boolean) => void): Promise<void> {
    let hasForgotten = false;
    for (const one of steps) {
      // More would make the sums inexact.
      if (one.verb === 'settle' && this.#settled.size === 40) continue;
      if (one.verb === 'settle') await this.#settle(`request-${this.#settled.size}`);
      else if (one.verb === 'ingest') this.#ingestInOrder(one.requestId);
      else await this.run([one]);
      hasForgotten ||= one.verb === 'forget';
      const { store, key } = this.#counter;
      const nothing = { requestId: 'nothing', localDay: day, tokens: 0, hasLedger: true };
      look(await store.settle({ key, ...nothing }), hasForgotten);
    }
  }

  get settledTotal(): number {
    return sum(this.#settled);
  }

  /** The sum of all requests that the ledger or the limiter knows. */
  get knownTotal(): number {
    return sum(this.#settled.union(this.#ledger));
  }

  /**
   * The ledger gets everything, one reload runs to its end, and then those in progress end as well.
   */
  async settleDown(): Promise<readonly (number | undefined)[]> {
    for (const id of this.#settled) this.#ledger.add(id);
    await this.#begin(0);
    this.#read(0);
    const used = [await this.#finish(0)];
    for (const other of [1, 2]) used.push(await this.#finish(other));
    return used.filter((each) => each !== undefined);
  }

  get ledgerTotal(): number {
    return sum(this.#ledger);
  }

  /**
   * A request that is on its way, or one whose edge was killed before it could settle: only the
   * ledger learns of that one.
   */
  #ingestInOrder(id: string): void {
    const number = Number(id.slice('request-'.length));
    const waiting = [...this.#settled.difference(this.#ledger)];
    this.#ledger.add((number < 7 ? waiting[number % waiting.length] : undefined) ?? 'request-50');
  }

  async #settle(id: string): Promise<void> {
    const { store, key } = this.#counter;
    this.#settled.add(id);
    await store.settle({ key, requestId: id, localDay: day, tokens: tokensOf(id), hasLedger: true });
  }

  async #begin(limiter: number): Promise<void> {
    const pendingIds = await this.#counter.store.pendingIds(this.#counter.key, day, 0);
    Object.assign(this.#open[limiter] ?? {}, { pendingIds, total: undefined });
  }

  #read(limiter: number): void {
    const reload = this.#open[limiter];
    if (reload?.pendingIds === undefined) return;
    const includedIds = reload.pendingIds.filter((id) => this.#ledger.has(id));
    const missingIds = reload.pendingIds.filter((id) => !this.#ledger.has(id));
    reload.total ??= { totalTokens: this.ledgerTotal, includedIds, missingIds };
  }

  async #finish(limiter: number): Promise<number | undefined> {
    const { total } = this.#open[limiter] ?? {};
    if (total === undefined) return undefined;
    const { store, key } = this.#counter;
    return (await store.reloadDay(key, day, { ...total, isTentative: this.#isTentative })).usedTokensAfter;
  }
}

function sum(ids: Iterable<string>): number {
  return [...ids].reduce((total, id) => total + tokensOf(id), 0);
}

/**
 * Whatever happened before: once the ledger has everything, the counter equals its total exactly.
 */
async function agreesInTheEnd(counter: Counter, steps: Schedule): Promise<void> {
  const reloads = new Reloads(counter);
  await reloads.run(steps);
  for (const used of await reloads.settleDown()) expect(used).toBe(reloads.ledgerTotal);
}

/**
 * After every step, as soon as a total is loaded, the counter includes each settled request exactly
 * once. A request that only the ledger has may be included or not. Requests that a store forgot are
 * missing until they are found in the ledger.
 */
async function isNeverWrong(counter: Counter, steps: Schedule): Promise<void> {
  const reloads = new Reloads(counter, true);
  await reloads.settleDown();
  await reloads.runInOrder(steps, ({ usedTokens, isLoaded }, hasForgotten) => {
    if (!isLoaded) return;
    expect(usedTokens).toBeLessThanOrEqual(reloads.knownTotal);
    if (!hasForgotten) expect(usedTokens).toBeGreaterThanOrEqual(reloads.settledTotal);
  });
  await reloads.settleDown();
  for (const used of await reloads.settleDown()) expect(used).toBe(reloads.ledgerTotal);
}

describe.each([
  ['agrees with it in the end', agreesInTheEnd],
  ['is never above the truth nor below it, whatever settles while the ledger is asked', isNeverWrong],
])('a day counter that is reloaded from the ledger %s', (_, check) => {
  it('in memory', async () => {
    await fc.assert(
      fc.asyncProperty(schedule, async (steps) => {
        await using opened = await openMemoryStore(noonMs);
        let current = opened.store;
        // An embedded store forgets when its process restarts.
        const store: Counter['store'] = {
          settle: (...args) => current.settle(...args),
          pendingIds: (...args) => current.pendingIds(...args),
          reloadDay: (...args) => current.reloadDay(...args),
        };
        const forget = async () => {
          current = new PlainStore(new MemoryLimitStore({ maxKeys: 1_000 }));
        };
        await check({ store, key: opened.key, advanceMs: (ms) => opened.time.advanceMs(ms), forget }, steps);
      }),
      { numRuns: isLong ? 3_000 : 1_000 },
    );
  });

  it('in Redis', async () => {
    await using opened = await openRedisStore(noonMs);
    const driver = new Redis((await testBackends()).redisUrl);
    await fc
      .assert(
        fc.asyncProperty(schedule, async (steps) => {
          const key = `reconciled:${randomUUID()}`;
          const forget = async () => {
            const names = await driver.keys(`rl:{${key}}*`);
            if (names.length > 0) await driver.del(names);
          };
          const advanceMs = (ms: number) => opened.time.advanceMs(ms);
          await check({ store: opened.store, key, advanceMs, forget }, steps);
        }),
        { numRuns: isLong ? 300 : 150 },
      )
      .finally(() => driver.disconnect());
  });
});
