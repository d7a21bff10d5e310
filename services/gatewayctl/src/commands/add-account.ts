import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { ConfigError, type Credential, type Environment, isTokenUrl, Secret } from '@gateway/config';
import { readRequiredKeys } from '@gateway/pool-broker/config';
import { Encryption } from '@gateway/pool-broker/credentials/encryption';
import { callOptions, openControlPlane } from '../control-plane.ts';
import { servedBy } from '../failures.ts';
import type { Terminal } from '../output.ts';
import { openStoredAccounts } from '../stored-accounts.ts';

export const credentialKinds = ['bearer', 'api_key', 'oauth'] as const;

export interface AddFlags {
  readonly kind: (typeof credentialKinds)[number];
  readonly secretFile?: string;
  readonly maxConcurrency?: number;
  readonly models?: readonly string[];
  readonly tokenUrl?: string;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly scopes?: readonly string[];
}

/** Reads a secret when no file is named. Undefined: standard input is a terminal, which would show it. */
export type SecretInput = (() => Promise<string>) | undefined;

export function standardInput(): SecretInput {
  return process.stdin.isTTY ? undefined : () => text(process.stdin);
}

/** Encrypts a credential and keeps it with its account. @throws ConfigError that says what is wrong, before anything is changed. */
export async function addAccount(
  env: Environment,
  id: string,
  flags: AddFlags,
  input: SecretInput,
  terminal: Pick<Terminal, 'note'>,
): Promise<void> {
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
  terminal.note(`added ${id} (${flags.kind}), encrypted with the key ${encryption.currentKeyId}`);
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
