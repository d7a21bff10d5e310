import { create } from '@bufbuild/protobuf';
import { ConfigError, type Environment } from '@gateway/config';
import type { StoredAccountState } from '@gateway/database';
import { readRequiredKeys } from '@gateway/pool-broker/config';
import { Encryption } from '@gateway/pool-broker/credentials/encryption';
import { type RotationProgress, rotateKeys } from '@gateway/pool-broker/credentials/rotate-keys';
import { type Account, AccountSchema, AccountState, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { connectClient } from '@gateway/rpc/connect-client';
import { Command, Option } from 'commander';
import { callOptions, findGateway, openControlPlane } from '../control-plane.ts';
import { type Columns, enumWord, formatRecords, processTerminal, type Terminal, timeText } from '../output.ts';
import { knowsTheDatabase, openStoredAccounts } from '../stored-accounts.ts';
import { type AddFlags, addAccount, credentialKinds, standardInput } from './add-account.ts';
import { accountId, commaList, wholeNumber } from './flags.ts';

/** `gatewayctl account …` */
export function accountCommand(env: Environment): Command {
  const account = new Command('account').description(
    "Look at provider accounts, and manage those in the gateway's database. Running gateways notice within seconds. Accounts of gateway.yaml are changed there.",
  );
  account
    .command('list')
    .description(
      'List accounts with their health. Without a running gateway health is not known and all count as available.',
    )
    .option('--pool <name>', 'only this pool')
    .option('--json', 'as JSON, one account a line')
    .action(async (flags: ListFlags) => listAccounts(env, flags, processTerminal()));
  account
    .command('add')
    .description(
      'Add an account. Its secret (for oauth: the refresh token) is read from standard input or a file, kept encrypted with ACCOUNT_KEYS, and never shown. Pooling accounts must be allowed by the provider.',
    )
    .argument('<pool/name>', 'such as responses/team-b', accountId)
    .addOption(
      new Option('--kind <kind>', 'bearer: Authorization: Bearer; api_key: x-api-key; oauth: by refresh token')
        .choices(credentialKinds)
        .default('bearer'),
    )
    .option('--secret-file <path>', 'read the secret from this file; "-" or nothing: standard input')
    .option('--max-concurrency <number>', 'requests at a time; not limited unless given', wholeNumber(1))
    .option('--models <ids>', 'model ids it may serve, with commas; * stands for any text', commaList)
    .option('--token-url <url>', "oauth: the provider's token endpoint")
    .option('--client-id <id>', 'oauth: who asks')
    .option('--client-secret-file <path>', "oauth: read the client's secret from this file, if it has one")
    .option('--scopes <names>', 'oauth: scopes to ask for, with commas', commaList)
    .action(async (id: string, flags: AddFlags) => addAccount(env, id, flags, standardInput(), processTerminal()));
  const changeCommand = (name: string, description: string, change: typeof removeAccount) =>
    account
      .command(name)
      .description(description)
      .argument('<pool/name>', 'as in the list', accountId)
      .action(async (id: string) => change(env, id, processTerminal()));
  changeCommand('remove', 'Forget an account and its tokens. What runs with it ends as it would have.', removeAccount);
  changeCommand(
    'enable',
    'Use an account again, one of gateway.yaml too, that a provider or a person took out of service. A refresh token that was refused is tried once more.',
    enableAccount,
  );
  changeCommand('drain', 'Give an account nothing new. What runs with it ends as it would have.', (...args) =>
    changeAccount(...args, 'draining'),
  );
  changeCommand('disable', 'Use an account no more.', (...args) => changeAccount(...args, 'disabled'));
  account
    .command('rotate-keys')
    .description(
      'Encrypt everything anew with the first of ACCOUNT_KEYS. Every broker must have that key before. Exits 1 when something could not be decrypted. Safe to repeat.',
    )
    .action(async () => {
      const { refused } = await rotateAccountKeys(env, processTerminal());
      if (refused.length > 0) process.exitCode = 1;
    });
  return account;
}

interface ListFlags {
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
  const unused = (await readStored(env))
    .filter((stored) => (pool === '' || stored.pool === pool) && !known.has(stored.account_id))
    .map((stored) => {
      const note = `in the database, encrypted with ${stored.key_id}, but not in use: just added, no such pool, or it can't be decrypted`;
      return create(AccountSchema, { pool: stored.pool, name: stored.name, note });
    });
  await terminal.print(formatRecords(columns, [...accounts, ...unused], json));
}

const columns: Columns<Account> = {
  pool: ({ pool }) => pool,
  account: ({ name }) => name,
  state: ({ state }) => (state === AccountState.UNSPECIFIED ? 'not used' : enumWord(AccountState, state)),
  inFlight: ({ inFlight }) => String(inFlight),
  cooldowns: ({ cooldowns }) => {
    const texts = cooldowns.map(({ until, model, reason }) => {
      const end = timeText(until, 'further notice');
      return `${model || 'all models'} until ${end} (${enumWord(AttemptResult, reason)})`;
    });
    return texts.join('; ');
  },
  note: ({ note }) => note,
};

async function readStored(env: Environment) {
  if (!knowsTheDatabase(env)) return [];
  await using stored = await openStoredAccounts(env);
  return await stored.table.list();
}

type Notes = Pick<Terminal, 'note'>;

/** What a provider or a token endpoint said of the account is forgotten too: a running gateway tries it with its next requests. */
export async function enableAccount(env: Environment, id: string, terminal: Notes): Promise<void> {
  const isStored = knowsTheDatabase(env) && (await setStoredState(env, id, 'active'));
  const url = await findGateway(env);
  const gateway = url === undefined ? undefined : connectClient(PoolBrokerService, url);
  const isKnown = (await gateway?.enableAccount({ accountId: id }, callOptions))?.known ?? false;
  if (!isStored && !isKnown) {
    throw new ConfigError([`There is no account ${id}, neither in the database nor in a running gateway.`]);
  }
  terminal.note(`${id} is active`);
  if (gateway === undefined) terminal.note('No gateway runs here: one that starts now knows nothing of it.');
}

export async function changeAccount(
  env: Environment,
  id: string,
  terminal: Notes,
  state: StoredAccountState,
): Promise<void> {
  if (!(await setStoredState(env, id, state))) throw notStored(id);
  terminal.note(`${id} is ${state}`);
}

async function setStoredState(env: Environment, id: string, state: StoredAccountState): Promise<boolean> {
  await using stored = await openStoredAccounts(env);
  return await stored.table.setState(id, state);
}

export async function removeAccount(env: Environment, id: string, terminal: Notes): Promise<void> {
  await using stored = await openStoredAccounts(env);
  if (!(await stored.table.remove(id))) throw notStored(id);
  terminal.note(`removed ${id}`);
}

function notStored(id: string): ConfigError {
  return new ConfigError([`There is no account ${id} in the database. One of gateway.yaml is changed there.`]);
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
