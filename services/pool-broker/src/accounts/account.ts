import { hash } from 'node:crypto';
import type { AccountConfig, Credential } from '@gateway/config';
import { revealedJson } from '@gateway/config/encryption';
import { matchesAnyPattern } from '@gateway/presentation/model-pattern';
import { LRUCache } from 'lru-cache';

/**
 * An account of a pool, as configured. Its health is stored elsewhere, because it changes and this
 * does not.
 */
export interface Account extends AccountConfig {
  /** "<pool>/<name>" */
  readonly id: string;
  /** To which tokens and groups can be restricted. */
  readonly labels: readonly string[];
  /** The maximum number of concurrent requests. Infinity: no cap. */
  readonly maxConcurrency: number;
  /** Relative capacity: load is requests in flight divided by it. */
  readonly weight: number;
  readonly credentialId: string;
  readonly note: string;
  /**
   * The state that operators want. The effective state differs while the provider refuses the
   * account.
   */
  readonly use: AccountConfig['state'];
}

export function toAccount(config: AccountConfig): Account {
  return Object.freeze({
    ...config,
    id: accountIdOf(config),
    labels: config.labels ?? [],
    maxConcurrency: config.maxConcurrency ?? Number.POSITIVE_INFINITY,
    // An account without a cap gets the same share as with this cap.
    weight: config.maxConcurrency ?? 10,
    credentialId: credentialIdOf(config.credential),
    note: config.note ?? '',
    use: config.use ?? config.state,
  });
}

export function accountIdOf({ pool, name }: Pick<AccountConfig, 'pool' | 'name'>): string {
  return `${pool}/${name}`;
}

/** Identifies a credential without revealing any part of it. */
export function credentialIdOf(credential: Credential): string {
  const text = revealedJson(['gateway credential', Object.entries(credential)]);
  return hash('sha256', text, 'base64url').slice(0, 22);
}

export function servesModel(account: Account, model: string): boolean {
  return account.models === undefined || matchesAnyPattern(model, account.models);
}

/**
 * The accounts that a request may use: each needs at least one label of every set. No sets: all
 * accounts.
 */
export type LabelSets = readonly (readonly string[])[];

export function hasLabels({ labels }: Pick<Account, 'labels'>, sets: LabelSets): boolean {
  return sets.every((set) => set.some((label) => labels.includes(label)));
}

/** Removed parts of the configuration, remembered for as long as leases of them may exist. */
export type Removed<T extends object> = LRUCache<string, T>;

export function noneRemoved<T extends object>(nowMs: () => number): Removed<T> {
  // Bounded by size instead of `max`, because `max` allocates all memory up front.
  const bound = { maxSize: 100_000, sizeCalculation: () => 1 };
  return new LRUCache({ ...bound, ttlResolution: 0, perf: { now: nowMs } });
}

/** The parts, in the order of their removal. */
export function removedParts<T extends object>(removed: Removed<T>): readonly T[] {
  return [...removed.values()].reverse();
}

/**
 * The configured accounts, and recently removed ones, which are draining so that requests that use
 * them end normally.
 */
export class Accounts {
  readonly configured: ReadonlyMap<string, Account>;
  readonly #removed: Removed<Account>;
  readonly #byPool: ReadonlyMap<string, readonly Account[]>;
  /** By pool and label sets. Bounded, because operators may restrict each token differently. */
  readonly #allowed = new LRUCache<string, readonly Account[]>({ max: 1_000 });

  constructor(configured: readonly AccountConfig[], removed: Removed<Account>) {
    const accounts = configured.map(toAccount);
    this.#removed = removed;
    this.configured = new Map(accounts.map((account) => [account.id, account]));
    this.#byPool = Map.groupBy(accounts, ({ pool }) => pool);
  }

  get all(): readonly Account[] {
    return [...this.configured.values(), ...removedParts(this.#removed)];
  }

  byId(accountId: string): Account | undefined {
    return this.configured.get(accountId) ?? this.#removed.get(accountId);
  }

  /**
   * The accounts of a pool, in the same array until the configuration changes. If all were removed,
   * it returns those, because the pool's model list may still be read.
   */
  ofPool(pool: string): readonly Account[] {
    return this.#byPool.get(pool) ?? removedParts(this.#removed).filter((account) => account.pool === pool);
  }

  /** Those of `ofPool` that a request with these label sets may use; in the same array likewise. */
  allowedIn(pool: string, sets: LabelSets): readonly Account[] {
    if (sets.length === 0) return this.ofPool(pool);
    const name = JSON.stringify([pool, ...sets]);
    const known = this.#allowed.get(name);
    if (known !== undefined) return known;
    const allowed = this.ofPool(pool).filter((account) => hasLabels(account, sets));
    this.#allowed.set(name, allowed);
    return allowed;
  }
}
