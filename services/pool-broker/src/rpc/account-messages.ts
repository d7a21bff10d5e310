import type { MessageInitShape } from '@bufbuild/protobuf';
import { type AccountInput, accountSourceOf, type GatewayConfig } from '@gateway/config';
import type { StoredAccountState } from '@gateway/database';
import {
  type AccountCredential,
  type AccountSchema,
  type AccountSpec,
  AccountState,
  AccountUse,
} from '@gateway/proto/pool/v1/account_pb.js';
import type { RefusedAccount } from '../credentials/account-directory.ts';
import { isRunning } from '../health/account-health.ts';
import { type AccountStateName, type AccountView, stateOf, windowsAt } from '../health/eligibility.ts';
import type { RefusalReason } from '../metrics.ts';

type AccountMessage = MessageInitShape<typeof AccountSchema>;

/** An account as operators see it, without its credential. */
export function toAccountMessage(view: AccountView, nowMs: number, gateway: GatewayConfig): AccountMessage {
  const { account, health, inFlight } = view;
  const { id, pool, name, note, labels, maxConcurrency, use, isStored = false, credential } = account;
  const cooldowns = health.cooldowns.filter((cooldown) => isRunning(cooldown, nowMs));
  return {
    ...{ id, pool, name, note, inFlight, use: accountUses[use], stored: isStored, credentialKind: credential.kind },
    source: accountSourceOf(gateway, account),
    labels: [...labels],
    // The state of the account as a whole: cooldowns of single models are listed separately.
    state: AccountState[stateOf(view, { nowMs, rules: gateway.settings }).toUpperCase() as Uppercase<AccountStateName>],
    // The message leaves out what the contract does not name.
    cooldowns: cooldowns.map(({ feature = '', ...cooldown }) => ({ ...cooldown, feature })),
    maxInFlight: Number.isFinite(maxConcurrency) ? maxConcurrency : 0,
    windows: [...windowsAt(health, nowMs)],
    lastError: health.lastError,
  };
}

/** An unusable stored account, shown so that operators can see why and remove it. */
export function toRefusedMessage({ row, reason }: RefusedAccount): AccountMessage {
  return {
    ...{ id: row.account_id, pool: row.pool, name: row.name, note: refusalNotes[reason], stored: true },
    source: 'database',
    ...{ use: accountUses[row.state], state: AccountState.DISABLED, credentialKind: row.credential_kind },
    maxInFlight: row.max_concurrency ?? 0,
  };
}

const refusalNotes: Readonly<Record<RefusalReason, string>> = {
  unknown_key:
    'Not used: its credential is encrypted with a key that is not among ACCOUNT_KEYS. Add the key, or replace the credential.',
  damaged: 'Not used: its database row was changed outside the gateway. Replace the credential, or remove the account.',
  unknown_pool: 'Not used: the configuration has no such pool. Add the pool to gateway.yaml, or remove the account.',
  name_in_file: 'Not used: the configuration has an account of the same name. Remove one of them.',
};

export const accountUses = {
  active: AccountUse.ACTIVE,
  draining: AccountUse.DRAINING,
  disabled: AccountUse.DISABLED,
} as const satisfies Readonly<Record<StoredAccountState, AccountUse>>;

/** Undefined for unspecified, and for uses of a newer contract. */
export function fromAccountUse(use: AccountUse): StoredAccountState | undefined {
  const names = Object.keys(accountUses) as StoredAccountState[];
  return names.find((name) => accountUses[name] === use);
}

/** A new account in the form of `gateway.yaml`, so that its rules apply. */
export function fromAccountSpec(
  { pool, name, models, labels, maxConcurrency }: Omit<AccountSpec, '$typeName' | '$unknown'>,
  credential: AccountCredential | undefined,
): AccountInput {
  return {
    ...{ pool, name, credential: fromCredential(credential) },
    models: models.length === 0 ? undefined : models,
    labels,
    max_concurrency: maxConcurrency === 0 ? undefined : maxConcurrency,
  };
}

function fromCredential(message: AccountCredential | undefined): object | undefined {
  switch (message?.credential.case) {
    case 'bearer':
      return { bearer: message.credential.value };
    case 'apiKey':
      return { api_key: message.credential.value };
    case 'oauth': {
      const { tokenUrl, clientId, clientSecret, refreshToken, scopes } = message.credential.value;
      const client = { client_id: clientId, client_secret: clientSecret === '' ? undefined : clientSecret };
      return { oauth: { token_url: tokenUrl, ...client, refresh_token: refreshToken, scopes } };
    }
    default:
      return undefined;
  }
}
