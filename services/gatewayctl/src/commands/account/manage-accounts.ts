import { create } from '@bufbuild/protobuf';
import { ConfigError, type Environment } from '@gateway/config';
import type { AccountsTable, StoredAccountState } from '@gateway/database';
import { readRequiredKeys } from '@gateway/pool-broker/credentials/credential-config';
import { Encryption } from '@gateway/pool-broker/credentials/encryption';
import { type RotationProgress, rotateKeys } from '@gateway/pool-broker/credentials/rotate-keys';
import {
  type Account,
  AccountSchema,
  AccountState,
  AttemptResult,
  type Cooldown,
} from '@gateway/proto/pool/v1/account_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { connectClient } from '@gateway/rpc/connect-client';
import { callOptions, findGateway, openControlPlane } from '../../control-plane/control-plane.ts';
import { knowsTheDatabase, openStoredAccounts } from '../../control-plane/stored-accounts.ts';
import { type Columns, formatRecords } from '../../output/table.ts';
import type { Terminal } from '../../output/terminal.ts';
import { enumWord, timeText } from '../../output/words.ts';

type Notes = Pick<Terminal, 'note'>;

export interface ListFlags {
  readonly pool?: string;
  readonly json?: boolean;
}

/** Prints what the gateway knows of its accounts, and which accounts of the database it does not use. */
export async function listAccounts(
  env: Environment,
  { pool = '', json = false }: ListFlags,
  terminal: Pick<Terminal, 'print'>,
): Promise<void> {
  await using plane = await openControlPlane(env);
  const { accounts } = await plane.broker.listAccounts({ pool }, callOptions);
  const known = new Set(accounts.map(({ id }) => id));
  const stored = knowsTheDatabase(env) ? await readStored(env) : [];
  const unused = stored.filter((each) => (pool === '' || each.pool === pool) && !known.has(each.account_id));
  await terminal.print(formatRecords(columns, [...accounts, ...unused.map(toUnused)], json));
}

/** What a provider or a token endpoint said of the account is forgotten too: a running gateway tries it with its next requests. */
export async function enableAccount(env: Environment, accountId: string, terminal: Notes): Promise<void> {
  const isStored = knowsTheDatabase(env) && (await setStoredState(env, accountId, 'active'));
  const url = await findGateway(env);
  const isKnown =
    url !== undefined && (await connectClient(PoolBrokerService, url).enableAccount({ accountId }, callOptions)).known;
  if (!isStored && !isKnown) {
    throw new ConfigError([`There is no account ${accountId}, neither in the database nor in a running gateway.`]);
  }
  terminal.note(`${accountId} is active`);
  if (url === undefined) terminal.note('No gateway runs here: one that starts now knows nothing of it.');
}

export async function changeAccount(
  env: Environment,
  id: string,
  state: StoredAccountState,
  terminal: Notes,
): Promise<void> {
  if (!(await setStoredState(env, id, state))) throw notStored(id);
  terminal.note(`${id} is ${state}`);
}

export async function removeAccount(env: Environment, id: string, terminal: Notes): Promise<void> {
  await using stored = await openStoredAccounts(env);
  if (!(await stored.table.remove(id))) throw notStored(id);
  terminal.note(`removed ${id}`);
}

/** Encrypts everything with the current key, and says how far it is: first, last, and now and then between them. */
export async function rotateAccountKeys(env: Environment, terminal: Notes): Promise<RotationProgress> {
  const encryption = new Encryption(readRequiredKeys(env));
  await using stored = await openStoredAccounts(env);
  let progress: RotationProgress = { total: 0, done: 0, refused: [] };
  for await (progress of rotateKeys(stored.database, encryption)) {
    const { total, done, refused } = progress;
    const seen = done + refused.length;
    if (seen % 100 !== 0 && seen !== total) continue;
    terminal.note(`${done} of ${total} are encrypted with ${encryption.currentKeyId}`);
  }
  for (const place of progress.refused) terminal.note(`can't be decrypted with any of ACCOUNT_KEYS: ${place}`);
  return progress;
}

async function setStoredState(env: Environment, id: string, state: StoredAccountState): Promise<boolean> {
  await using stored = await openStoredAccounts(env);
  return await stored.table.setState(id, state);
}

async function readStored(env: Environment): Promise<readonly AccountsTable[]> {
  await using stored = await openStoredAccounts(env);
  return await stored.table.list();
}

function notStored(id: string): ConfigError {
  return new ConfigError([`There is no account ${id} in the database. One of gateway.yaml is changed there.`]);
}

const columns: Columns<Account> = {
  pool: ({ pool }) => pool,
  account: ({ name }) => name,
  state: ({ state }) => (state === AccountState.UNSPECIFIED ? 'not used' : enumWord(AccountState, state)),
  inFlight: ({ inFlight }) => String(inFlight),
  cooldowns: ({ cooldowns }) => cooldowns.map(cooldownText).join('; '),
  note: ({ note }) => note,
};

/** An account of the database as the gateway would list it, without a state. */
function toUnused({ pool, name, key_id: keyId }: AccountsTable): Account {
  const note = `in the database, encrypted with ${keyId}, but not in use: just added, no such pool, or it can't be decrypted`;
  return create(AccountSchema, { pool, name, note });
}

function cooldownText({ until, model, reason }: Cooldown): string {
  const scope = model === '' ? 'all models' : model;
  return `${scope} until ${timeText(until, 'further notice')} (${enumWord(AttemptResult, reason)})`;
}
