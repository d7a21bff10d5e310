import { hash } from 'node:crypto';
import type { AccountConfig, Credential } from '@gateway/config';
import type { Clock } from '@gateway/time';
import { matchesAnyPattern } from '../catalog/model-pattern.ts';
import { revealedJson } from '../credentials/encryption.ts';

/** An account of a pool, as configured. Its health is elsewhere: it changes, this does not. */
export interface Account extends AccountConfig {
  /** "<pool>/<name>" */
  readonly id: string;
  /** Requests at a time. Infinity: no cap. */
  readonly maxConcurrency: number;
  /** What its requests under way are measured against when accounts are compared. */
  readonly weight: number;
  /** Identifies the credential among the account's others, without revealing anything of it. */
  readonly credentialId: string;
  /** Empty: nothing. */
  readonly note: string;
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

/** A part of the configuration that was taken out of it and is still needed by requests that began before. */
export interface Removed<T> {
  readonly value: T;
  /** When it is needed no more. */
  readonly untilMs: number;
}

export function neededAt<T>(removed: readonly Removed<T>[], nowMs: number): readonly Removed<T>[] {
  return removed.filter(({ untilMs }) => nowMs < untilMs);
}

/**
 * The configured accounts, and those that were removed a while ago: these are found by their id, so that requests that began
 * with them end as they would have, and are shown as draining.
 */
export class Accounts {
  readonly #clock: Clock;
  readonly #removed: readonly Removed<Account>[];
  readonly #byId: ReadonlyMap<string, Account>;
  readonly #byPool: ReadonlyMap<string, readonly Account[]>;

  constructor(configured: readonly AccountConfig[], removed: readonly Removed<AccountConfig>[], clock: Clock) {
    const accounts = configured.map(toAccount);
    this.#clock = clock;
    this.#removed = removed.map(({ value, untilMs }) => ({
      value: toAccount({ ...value, state: 'draining' }),
      untilMs,
    }));
    this.#byId = new Map(accounts.map((account) => [account.id, account]));
    this.#byPool = Map.groupBy(accounts, ({ pool }) => pool);
  }

  get all(): readonly Account[] {
    return [...this.#byId.values(), ...this.#draining()];
  }

  byId(accountId: string): Account | undefined {
    return this.#byId.get(accountId) ?? this.#draining().find(({ id }) => id === accountId);
  }

  /** As one list until something else is configured. If all were removed, those: the pool's model list may still be read. */
  ofPool(pool: string): readonly Account[] {
    return this.#byPool.get(pool) ?? this.#draining().filter((account) => account.pool === pool);
  }

  #draining(): readonly Account[] {
    return neededAt(this.#removed, this.#clock.nowMs()).map(({ value }) => value);
  }
}
