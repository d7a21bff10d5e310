import { hash } from 'node:crypto';
import { type AccountConfig, type Credential, Secret } from '@gateway/config';
import type { Clock } from '@gateway/time';
import { matchesAnyPattern } from '../catalog/model-pattern.ts';

/** An account of a pool, as configured. Its health is elsewhere: it changes, this does not. */
export interface Account {
  /** "<pool>/<name>" */
  readonly id: string;
  readonly pool: string;
  readonly name: string;
  readonly state: AccountConfig['state'];
  /** Requests at a time. Infinity: no cap. */
  readonly maxConcurrency: number;
  /** What its requests under way are measured against when accounts are compared. */
  readonly weight: number;
  readonly credential: Credential;
  /** Identifies the credential among the account's others, without revealing anything of it. */
  readonly credentialId: string;
  readonly models: readonly string[] | undefined;
  /** What a person should know of it. Empty: nothing. */
  readonly note: string;
}

export function toAccount(config: AccountConfig): Account {
  return Object.freeze({
    id: accountIdOf(config),
    pool: config.pool,
    name: config.name,
    state: config.state,
    maxConcurrency: config.maxConcurrency ?? Number.POSITIVE_INFINITY,
    weight: config.maxConcurrency ?? uncappedWeight,
    credential: config.credential,
    credentialId: credentialIdOf(config.credential),
    models: config.models,
    note: config.note ?? '',
  });
}

export function accountIdOf({ pool, name }: Pick<AccountConfig, 'pool' | 'name'>): string {
  return `${pool}/${name}`;
}

export function servesModel(account: Account, model: string): boolean {
  return account.models === undefined || matchesAnyPattern(model, account.models);
}

// An account without a cap takes its share as if it had this one.
const uncappedWeight = 10;

/** Identifies a credential, without revealing anything of it. */
export function credentialIdOf(credential: Credential): string {
  const members: readonly (readonly [string, unknown])[] = Object.entries(credential);
  const revealed = members.map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]);
  return hash('sha256', JSON.stringify(['gateway credential', revealed]), 'base64url').slice(0, 22);
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
export class AccountRoster {
  readonly #configured: readonly Account[];
  readonly #removed: readonly Removed<Account>[];
  readonly #clock: Clock;
  readonly #byId: ReadonlyMap<string, Account>;
  readonly #byPool: ReadonlyMap<string, PoolAccounts>;

  constructor(configured: readonly AccountConfig[], removed: readonly Removed<AccountConfig>[], clock: Clock) {
    this.#configured = configured.map(toAccount);
    this.#removed = removed.map(({ value, untilMs }) => ({
      value: toAccount({ ...value, state: 'draining' }),
      untilMs,
    }));
    this.#clock = clock;
    this.#byId = new Map(this.#configured.map((account) => [account.id, account]));
    const byPool = Map.groupBy(this.#configured, ({ pool }) => pool);
    this.#byPool = new Map([...byPool].map(([pool, accounts]) => [pool, toPoolAccounts(accounts)]));
  }

  get all(): readonly Account[] {
    return [...this.#configured, ...this.#draining()];
  }

  byId(accountId: string): Account | undefined {
    return this.#byId.get(accountId) ?? this.#draining().find(({ id }) => id === accountId);
  }

  /** The accounts of a pool, in the order of the configuration. */
  ofPool(pool: string): readonly Account[] {
    return this.#ofPool(pool).accounts;
  }

  /** The ids of these, in the same order. */
  idsOfPool(pool: string): readonly string[] {
    return this.#ofPool(pool).ids;
  }

  /** Of a pool whose accounts were all removed, those: its model list may still be read. */
  #ofPool(pool: string): PoolAccounts {
    return this.#byPool.get(pool) ?? toPoolAccounts(this.#draining().filter((account) => account.pool === pool));
  }

  #draining(): readonly Account[] {
    return neededAt(this.#removed, this.#clock.nowMs()).map(({ value }) => value);
  }
}

interface PoolAccounts {
  readonly accounts: readonly Account[];
  readonly ids: readonly string[];
}

function toPoolAccounts(accounts: readonly Account[]): PoolAccounts {
  return { accounts, ids: accounts.map(({ id }) => id) };
}
