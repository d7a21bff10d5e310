import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { create } from '@bufbuild/protobuf';
import { ConfigError, type Credential, type Environment, isTokenUrl, Secret } from '@gateway/config';
import type { StoredAccountState } from '@gateway/database';
import { readRequiredKeys } from '@gateway/pool-broker/config';
import { Encryption } from '@gateway/pool-broker/credentials/encryption';
import { type RotationProgress, rotateKeys } from '@gateway/pool-broker/credentials/rotate-keys';
import { type Account, AccountSchema, AccountState, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { Command, Option } from 'commander';
import {
  adminClients,
  callOptions,
  findGateway,
  knowsTheDatabase,
  openControlPlane,
  openStoredAccounts,
} from '../control-plane.ts';
import { servedBy } from '../failures.ts';
import { type Columns, enumWord, formatRecords, note, print, timeText } from '../output.ts';
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
    .action((flags: ListFlags) => listAccounts(env, flags));
  account
    .command('add')
    .description(
      'Add an account. Its secret (for oauth: the refresh token) is read from standard input or a file, kept encrypted with ACCOUNT_KEYS, and never shown. Pooling accounts must be allowed by the provider.',
    )
    .argument('<pool/name>', 'such as responses/team-b', accountId)
    .addOption(
      new Option('--kind <kind>', 'bearer: Authorization: Bearer; api_key: x-api-key; oauth: by refresh token')
        .choices(['bearer', 'api_key', 'oauth'])
        .default('bearer'),
    )
    .option('--secret-file <path>', 'read the secret from this file; "-" or nothing: standard input')
    .option('--max-concurrency <number>', 'requests at a time; not limited unless given', wholeNumber(1))
    .option('--models <ids>', 'model ids it may serve, with commas; * stands for any text', commaList)
    .option('--token-url <url>', "oauth: the provider's token endpoint")
    .option('--client-id <id>', 'oauth: who asks')
    .option('--client-secret-file <path>', "oauth: read the client's secret from this file, if it has one")
    .option('--scopes <names>', 'oauth: scopes to ask for, with commas', commaList)
    .action((id: string, flags: AddFlags) =>
      addAccount(env, id, flags, process.stdin.isTTY ? undefined : () => text(process.stdin)),
    );
  const changeCommand = (name: string, description: string, change: (env: Environment, id: string) => Promise<void>) =>
    account
      .command(name)
      .description(description)
      .argument('<pool/name>', 'as in the list', accountId)
      .action((id: string) => change(env, id));
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
      const { refused } = await rotateAccountKeys(env);
      if (refused.length > 0) process.exitCode = 1;
    });
  return account;
}

interface ListFlags {
  readonly pool?: string;
  readonly json?: boolean;
}

/** Prints what the gateway knows of its accounts, and which accounts of the database it does not use. */
export async function listAccounts(env: Environment, { pool = '', json = false }: ListFlags): Promise<void> {
  await using plane = await openControlPlane(env);
  const { accounts } = await plane.broker.listAccounts({ pool }, callOptions);
  const known = new Set(accounts.map(({ id }) => id));
  const unused = (await readStored(env))
    .filter((stored) => (pool === '' || stored.pool === pool) && !known.has(stored.account_id))
    .map((stored) => {
      const why = `in the database, encrypted with ${stored.key_id}, but not in use: just added, no such pool, or it can't be decrypted`;
      return create(AccountSchema, { pool: stored.pool, name: stored.name, note: why });
    });
  print(formatRecords(columns, [...accounts, ...unused], json));
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
  note: (account) => account.note,
};

async function readStored(env: Environment) {
  if (!knowsTheDatabase(env)) return [];
  await using stored = await openStoredAccounts(env);
  return await stored.table.list();
}

/** What a provider or a token endpoint said of the account is forgotten too: a running gateway tries it with its next requests. */
export async function enableAccount(env: Environment, id: string): Promise<void> {
  const isStored = knowsTheDatabase(env) && (await setStoredState(env, id, 'active'));
  const url = await findGateway(env);
  const gateway = url === undefined ? undefined : adminClients(env)(PoolBrokerService, url);
  const isKnown = (await gateway?.enableAccount({ accountId: id }, callOptions))?.known ?? false;
  if (!isStored && !isKnown) {
    throw new ConfigError([`There is no account ${id}, neither in the database nor in a running gateway.`]);
  }
  note(`${id} is active`);
  if (gateway === undefined) note('No gateway runs here: one that starts now knows nothing of it.');
}

export async function changeAccount(env: Environment, id: string, state: StoredAccountState): Promise<void> {
  if (!(await setStoredState(env, id, state))) throw notStored(id);
  note(`${id} is ${state}`);
}

async function setStoredState(env: Environment, id: string, state: StoredAccountState): Promise<boolean> {
  await using stored = await openStoredAccounts(env);
  return await stored.table.setState(id, state);
}

export async function removeAccount(env: Environment, id: string): Promise<void> {
  await using stored = await openStoredAccounts(env);
  if (!(await stored.table.remove(id))) throw notStored(id);
  note(`removed ${id}`);
}

function notStored(id: string): ConfigError {
  return new ConfigError([`There is no account ${id} in the database. One of gateway.yaml is changed there.`]);
}

/** Encrypts everything with the current key, and says how far it is: first, last, and now and then between them. */
export async function rotateAccountKeys(env: Environment): Promise<RotationProgress> {
  const encryption = new Encryption(readRequiredKeys(env));
  await using stored = await openStoredAccounts(env);
  let progress: RotationProgress = { total: 0, done: 0, refused: [] };
  for await (progress of rotateKeys(stored.handle, encryption)) {
    const { total, done, refused } = progress;
    const seen = done + refused.length;
    if (seen % 100 !== 0 && seen !== total) continue;
    note(`${done} of ${total} are encrypted with ${encryption.currentKeyId}`);
  }
  for (const place of progress.refused) note(`can't be decrypted with any of ACCOUNT_KEYS: ${place}`);
  return progress;
}

export interface AddFlags {
  readonly kind: Credential['kind'];
  readonly secretFile?: string;
  readonly maxConcurrency?: number;
  readonly models?: readonly string[];
  readonly tokenUrl?: string;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly scopes?: readonly string[];
}

/** Reads a secret when no file is named. Undefined: standard input is a terminal, which would show it. */
type SecretInput = (() => Promise<string>) | undefined;

/** Encrypts a credential and keeps it with its account. @throws ConfigError that says what is wrong, before anything is changed. */
export async function addAccount(env: Environment, id: string, flags: AddFlags, input: SecretInput): Promise<void> {
  const encryption = new Encryption(readRequiredKeys(env));
  checkFlags(flags);
  await checkName(env, id);
  await using stored = await openStoredAccounts(env);
  const credential = await readCredential(flags, input);
  const [pool = '', name = ''] = id.split('/');
  const { models, maxConcurrency } = flags;
  const account = { pool, name, models, maxConcurrency, credential, state: 'active' } as const;
  const added = await stored.table.add(account, encryption);
  if (!added) throw new ConfigError([`There is an account ${id} in the database already. Remove it first.`]);
  note(`added ${id} (${flags.kind}), encrypted with the key ${encryption.currentKeyId}`);
}

function checkFlags({ kind, tokenUrl, clientId, clientSecretFile, scopes }: AddFlags): void {
  const required = { '--token-url': tokenUrl, '--client-id': clientId };
  const ofOAuth = { ...required, '--client-secret-file': clientSecretFile, '--scopes': scopes };
  const missing = Object.entries(required).filter(([, value]) => value === undefined);
  const given = Object.entries(ofOAuth).filter(([, value]) => value !== undefined);
  const problems =
    kind === 'oauth'
      ? missing.map(([flag]) => `--kind oauth needs ${flag}.`)
      : given.map(([flag]) => `${flag} is for --kind oauth only.`);
  if (tokenUrl !== undefined && !isTokenUrl(tokenUrl)) {
    problems.push(
      '--token-url must start with https:// (http:// only at an address of this machine) and hold no user.',
    );
  }
  if (clientSecretFile === '-') {
    problems.push('--client-secret-file must be a file: standard input has the refresh token.');
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

/** The pool must be there, and the name free in gateway.yaml as well. */
async function checkName(env: Environment, id: string): Promise<void> {
  await using plane = await openControlPlane(env);
  const { pools } = await servedBy('pool-broker', plane.broker.listPools({}, callOptions));
  const { accounts } = await plane.broker.listAccounts({}, callOptions);
  const pool = id.split('/', 1)[0];
  if (!pools.some(({ name }) => name === pool)) {
    throw new ConfigError([
      `There is no pool ${pool} in the gateway's configuration; the pools are ${pools.map(({ name }) => name).join(', ')}.`,
    ]);
  }
  if (accounts.some((account) => account.id === id)) {
    throw new ConfigError([`There is an account ${id} already, in gateway.yaml or in the database.`]);
  }
}

async function readCredential(flags: AddFlags, input: SecretInput): Promise<Credential> {
  const { kind, secretFile, clientSecretFile, tokenUrl = '', clientId = '', scopes = [] } = flags;
  const secret = await readSecret(secretFile, input);
  if (kind !== 'oauth') return { kind, secret };
  const clientSecret = clientSecretFile === undefined ? undefined : await readSecret(clientSecretFile, input);
  return { kind, tokenUrl, clientId, clientSecret, refreshToken: secret, scopes };
}

/** A secret from a file or standard input, without the line end it may have. @throws ConfigError, which does not repeat it. */
async function readSecret(path: string | undefined, input: SecretInput): Promise<Secret> {
  const secret = (await readText(path, input)).trim();
  if (/^[\x21-\x7e]+$/.test(secret)) return new Secret(secret);
  throw new ConfigError([
    secret === ''
      ? 'The secret is empty.'
      : 'The secret holds spaces or characters that no secret has. It may have been copied with too much around it.',
  ]);
}

async function readText(path: string | undefined, input: SecretInput): Promise<string> {
  if (path === undefined || path === '-') {
    if (input !== undefined) return input();
    throw new ConfigError([
      'The secret is read from standard input, which is a terminal that would show it. Pipe it in (pass show … | gatewayctl account add …) or use --secret-file.',
    ]);
  }
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    const reason = thrown instanceof Error && 'code' in thrown ? ` (${String(thrown.code)})` : '';
    throw new ConfigError([`${path}: the file can't be read${reason}.`]);
  }
}
