import { hash } from 'node:crypto';
import type { AccountConfig, Credential } from '@gateway/config';
import { matchesAnyPattern } from '@gateway/presentation/model-pattern';
import type { Clock } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { revealedJson } from '../credentials/encryption.ts';

/** An account of a pool, as configured. Its health is elsewhere: it changes, this does not. */
export interface Account extends AccountConfig {
  /** "<pool>/<name>" */
  readonly id: string;
  /** Requests at a time. Infinity: no cap. */
  readonly maxConcurrency: number;
  /** What its requests under way are measured against when accounts are compared. */
  readonly weight: number;
  readonly credentialId: string;
  readonly note: string;
  /** What people want of it: its state may be another, when its provider takes nothing of it. */
  readonly use: AccountConfig['state'];
}

export function toAccount(config: AccountConfig): Account {
  return Object.freeze({
    ...config,
    id: accountIdOf(config),
    maxConcurrency: config.maxConcurrency ?? Number.POSITIVE_INFINITY,
    // An account without a cap takes its share as if it had this one.
    weight: config.maxConcurrency ?? 10,
    credentialId: credentialIdOf(config.credential),
    note: config.note ?? '',
    use: config.use ?? config.state,
  });
}

export function accountIdOf({ pool, name }: Pick<AccountConfig, 'pool' | 'name'>): string {
  return `${pool}/${name}`;
}

/** Identifies a credential, without revealing anything of it. */
export function credentialIdOf(credential: Credential): string {
  const text = revealedJson(['gateway credential', Object.entries(credential)]);
  return hash('sha256', text, 'base64url').slice(0, 22);
}

export function servesModel(account: Account, model: string): boolean {
  return account.models === undefined || matchesAnyPattern(model, account.models);
}

/** What was taken out of the configuration is known for as long as leases of it may be out. */
export type Removed<T extends object> = LRUCache<string, T>;

export function noneRemoved<T extends object>(clock: Clock): Removed<T> {
  // A bound by size, not by number: memory is taken as entries come.
  const bound = { maxSize: 100_000, sizeCalculation: () => 1 };
  return new LRUCache({ ...bound, ttlResolution: 0, perf: { now: () => clock.nowMs() } });
}

/** What was removed first comes first. */
export function removedParts<T extends object>(removed: Removed<T>): readonly T[] {
  return [...removed.values()].reverse();
}

/** The configured accounts, and those that were removed a while ago, draining, so that requests that began with them end as they would have. */
export class Accounts {
  readonly configured: ReadonlyMap<string, Account>;
  readonly #removed: Removed<Account>;
  readonly #byPool: ReadonlyMap<string, readonly Account[]>;

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

  /** As one list until something else is configured. If all were removed, those: the pool's model list may still be read. */
  ofPool(pool: string): readonly Account[] {
    return this.#byPool.get(pool) ?? removedParts(this.#removed).filter((account) => account.pool === pool);
  }
}
