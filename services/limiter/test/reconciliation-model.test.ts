import { randomUUID } from 'node:crypto';
import { testBackends } from '@gateway/testkit';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import type { LimitStore, OpenReconciliation } from '../src/store/limit-store.ts';
import { openMemoryStore, openRedisStore } from './store-under-test.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const day = '2026-11-20';

const requestId = fc.integer({ min: 0, max: 7 }).map((n) => `request-${n}`);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ verb: fc.constant('settle'), requestId }) },
  { weight: 4, arbitrary: fc.record({ verb: fc.constant('ingest'), requestId }) },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant('begin'), force: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant('read') }) },
  { weight: 3, arbitrary: fc.record({ verb: fc.constant('finish') }) },
  {
    weight: 2,
    arbitrary: fc.record({ verb: fc.constant('wait'), waitMs: fc.constantFrom(1, 9_999, 10_000, 130_000) }),
  },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('forget') }) },
);
const schedule = fc.array(step, { minLength: 1, maxLength: 40 });
type Schedule = typeof schedule extends fc.Arbitrary<infer S> ? S : never;

/** Every request uses as many tokens as its number says, so that each leaves a trace of its own in a sum. */
const tokensOf = (id: string) => 2 ** Number(id.slice('request-'.length));

interface Counter {
  readonly store: LimitStore;
  readonly key: string;
  readonly advanceMs: (ms: number) => void;
  /** Takes the store's memory away. */
  readonly forget: () => Promise<unknown>;
}

/** A ledger and a limiter that compares its counter with it, step by step and in any order. */
class Comparison {
  readonly #counter: Counter;
  readonly #ledger = new Set<string>();
  readonly #settled = new Set<string>();
  #open: OpenReconciliation | undefined;
  #snapshot: { readonly totalTokens: number; readonly includedIds: readonly string[] } | undefined;

  constructor(counter: Counter) {
    this.#counter = counter;
  }

  async run(steps: Schedule): Promise<void> {
    for (const one of steps) {
      if (one.verb === 'settle') await this.#settle(one.requestId);
      if (one.verb === 'ingest') this.#ledger.add(one.requestId);
      if (one.verb === 'begin') await this.#begin(one.force);
      if (one.verb === 'read') this.#read();
      if (one.verb === 'finish') await this.#finish();
      if (one.verb === 'wait') this.#counter.advanceMs(one.waitMs);
      if (one.verb === 'forget') await this.#forget();
    }
  }

  /** The ledger hears of everything, and one comparison runs to its end. */
  async settleDown(): Promise<number | undefined> {
    for (const id of this.#settled) this.#ledger.add(id);
    await this.#begin(true);
    this.#read();
    return (await this.#finish())?.usedTokensAfter;
  }

  get ledgerTotal(): number {
    return sum(this.#ledger);
  }

  async #settle(id: string): Promise<void> {
    const { store, key } = this.#counter;
    this.#settled.add(id);
    await store.settle({ key, requestId: id, localDay: day, tokens: tokensOf(id), dayBase: () => undefined });
  }

  async #begin(force: boolean): Promise<void> {
    const begun = await this.#counter.store.beginReconciliation(this.#counter.key, day, { pauseMs: 10_000, force });
    if (begun === undefined) return;
    this.#open = begun;
    this.#snapshot = undefined;
  }

  #read(): void {
    const includedIds = this.#open?.pendingIds.filter((id) => this.#ledger.has(id)) ?? [];
    this.#snapshot ??= { totalTokens: this.ledgerTotal, includedIds };
  }

  async #finish() {
    if (this.#open === undefined || this.#snapshot === undefined) return undefined;
    const { store, key } = this.#counter;
    return store.finishReconciliation(key, day, this.#open.ticket, this.#snapshot);
  }

  async #forget(): Promise<void> {
    await this.#counter.forget();
  }
}

function sum(ids: Iterable<string>): number {
  return [...ids].reduce((total, id) => total + tokensOf(id), 0);
}

/** Whatever happened before: once the ledger has heard of everything, the counter stands at its total, to the token. */
async function agreesInTheEnd(counter: Counter, steps: Schedule): Promise<void> {
  const comparison = new Comparison(counter);
  await comparison.run(steps);
  expect(await comparison.settleDown()).toBe(comparison.ledgerTotal);
}

describe('a day counter that is compared with the ledger agrees with it in the end', () => {
  it('in memory', async () => {
    await fc.assert(
      fc.asyncProperty(schedule, async (steps) => {
        await using opened = await openMemoryStore(noonMs);
        let current = opened.store;
        // A process that starts anew is what an embedded store forgets by.
        const store: LimitStore = {
          admit: (...args) => current.admit(...args),
          admitAll: (...args) => current.admitAll(...args),
          settle: (...args) => current.settle(...args),
          settleAll: (...args) => current.settleAll(...args),
          peek: (...args) => current.peek(...args),
          rememberDayBase: (...args) => current.rememberDayBase(...args),
          beginReconciliation: (...args) => current.beginReconciliation(...args),
          finishReconciliation: (...args) => current.finishReconciliation(...args),
          recordAdmissions: (...args) => current.recordAdmissions(...args),
          heartbeat: (...args) => current.heartbeat(...args),
        };
        const forget = async () => {
          current = (await openMemoryStore(opened.clock.nowMs())).store;
        };
        await agreesInTheEnd({ store, key: opened.key, advanceMs: (ms) => opened.clock.advanceMs(ms), forget }, steps);
      }),
      { numRuns: 3_000 },
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
          const advanceMs = (ms: number) => opened.clock.advanceMs(ms);
          await agreesInTheEnd({ store: opened.store, key, advanceMs, forget }, steps);
        }),
        { numRuns: 300 },
      )
      .finally(() => driver.disconnect());
  });
});
