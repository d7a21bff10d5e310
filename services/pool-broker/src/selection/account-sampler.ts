import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Account, servesModel } from '../accounts/account.ts';

/** So many accounts are all looked at, so that the choice among them is exact. */
export const sampleSize = 8;

/** Draws the accounts of a large pool that a request looks at, so that no request reads more of them than of a small one. */
export class AccountSampler {
  readonly #ofPool = new WeakMap<readonly Account[], LRUCache<string, ModelAccounts>>();

  /** `accounts`: all of a pool, as one list for as long as they stay the same. */
  ofModel(accounts: readonly Account[], model: string): ModelAccounts {
    const memoMethod = (of: string) => new ModelAccounts(accounts, of);
    // Clients may make up the names of models.
    return this.#ofPool.getOrInsertComputed(accounts, () => new LRUCache({ max: 100, memoMethod })).memo(model);
  }
}

/**
 * The accounts that may serve a model. One that was found limited is not drawn for a second; then one request looks at it again.
 * This only steers where a request looks: whether an account takes it is decided by the account's health, and a refusal by all accounts.
 */
export class ModelAccounts {
  readonly serving: readonly Account[];
  /** The sum of the weights up to each. */
  readonly #sums: readonly number[];
  /** When to look again at accounts that were found limited, in that order. */
  readonly #limited = new Map<Account, number>();

  constructor(accounts: readonly Account[], model: string) {
    this.serving = accounts.filter((account) => account.state === 'active' && servesModel(account, model));
    let sum = 0;
    this.#sums = this.serving.map(({ weight }) => (sum += weight));
  }

  /** The share of the accounts that are not known to be limited. */
  get usableShare(): number {
    return 1 - this.#limited.size / this.serving.length;
  }

  /** By weight: at random, or the same ones for each request of a session. All of them if they are few. */
  draw(affinityKey: string, nowMs: number, random: () => number): readonly Account[] {
    if (this.serving.length <= sampleSize) return this.serving;
    const due = [...this.#limited].filter(([, atMs]) => atMs <= nowMs).map(([account]) => account);
    // Requests that come meanwhile need not look at them as well.
    for (const account of due) this.note(account, true, nowMs);
    const next = affinityKey === '' ? random : numbersOf(affinityKey);
    const usable = new Set<Account>();
    for (let draws = 0; draws < maxDraws && usable.size < sampleSize; draws++) {
      const account = this.#at(next());
      if (account !== undefined && !this.#limited.has(account)) usable.add(account);
    }
    return [...due, ...(usable.size > 0 ? usable : this.#someUsable(next()))];
  }

  /** What a look at an account showed. */
  note(account: Account, isLimited: boolean, nowMs: number): void {
    this.#limited.delete(account);
    if (isLimited) this.#limited.set(account, nowMs + lookAgainMs);
  }

  /** The account at a place from 0 to below 1, of which each has its share by weight. */
  #at(place: number): Account | undefined {
    const sought = place * (this.#sums.at(-1) ?? 0);
    return this.serving[this.#sums.findIndex((sum) => sum > sought)];
  }

  /** Where most accounts are limited the draws may all miss the others. */
  #someUsable(place: number): readonly Account[] {
    const usable = this.serving.filter((account) => !this.#limited.has(account));
    const from = Math.floor(place * usable.length);
    return usable.slice(from, from + sampleSize);
  }
}

const lookAgainMs = 1_000;
/** As many as a digest has numbers. */
const maxDraws = 16;

/** Numbers from 0 to below 1 that are always the same for a key. */
function numbersOf(key: string): () => number {
  const digest = hash('sha512', key, 'buffer');
  let at = 0;
  return () => digest.readUInt32BE((at++ % maxDraws) * 4) / 2 ** 32;
}
