import type { AccountConfig, Credential } from '@gateway/config';
import { matchesAnyPattern } from '../catalog/model-pattern.ts';
import { credentialIdOf } from './credential-id.ts';

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
  /** Tells the credential from the account's others, without telling anything of it. */
  readonly credentialId: string;
  readonly models: readonly string[] | undefined;
  /** What a person should know of it. Empty: nothing. */
  readonly note: string;
}

export function toAccount(config: AccountConfig): Account {
  return Object.freeze({
    id: `${config.pool}/${config.name}`,
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

export function servesModel(account: Account, model: string): boolean {
  return account.models === undefined || matchesAnyPattern(model, account.models);
}

// An account without a cap takes its share as if it had this one.
const uncappedWeight = 10;
