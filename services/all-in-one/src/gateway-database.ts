import { resolve } from 'node:path';
import { backendText, ConfigError, type Environment, EnvReader, readSettings } from '@gateway/config';
import { type GatewayDatabase, migrate, pendingMigrations } from '@gateway/database';
import { databaseUrl } from '@gateway/database/database-url';
import { type IdentityConfig, readIdentityConfig } from '@gateway/identity/config';
import { readCredentialConfig, readRequiredKeys } from '@gateway/pool-broker/config';
import type { Metrics } from '@gateway/telemetry';
import { DataFolder } from './data-folder.ts';

interface GatewayDatabaseOptions {
  /** For the embedded database. */
  readonly checkpointMs?: number;
  readonly metrics?: Metrics;
}

/**
 * The database of DATABASE_URL or, without it, the embedded one in the data folder.
 * @throws ConfigError
 */
export async function openGatewayDatabase(env: Environment, { checkpointMs, metrics }: GatewayDatabaseOptions = {}) {
  const url = readDatabaseUrl(env);
  if (url === undefined) {
    const { openSqlite } = await import('@gateway/database/sqlite');
    const { databaseFile } = await DataFolder.open(env);
    const handle = openSqlite(databaseFile, { checkpointMs, metrics });
    return openDatabase(handle, 'embedded', `the embedded database ${resolve(databaseFile)}`);
  }
  const { openPostgres, reachPostgres } = await import('@gateway/database/postgres');
  await using opening = new AsyncDisposableStack();
  const handle = opening.use(openPostgres(url, { metrics }));
  await reachPostgres(handle, url);
  opening.move();
  return openDatabase(handle, 'shared', descriptionOf(url));
}

/** The same with current tables. @throws ConfigError when a shared database lacks migrations. */
export async function openCurrentDatabase(env: Environment) {
  const opened = await openGatewayDatabase(env);
  const { handle, kind, description } = opened;
  if (kind === 'embedded') await migrate(handle);
  else if ((await pendingMigrations(handle)).length > 0) {
    await handle.destroy();
    throw new ConfigError([`${description} is not up to date. Run gatewayctl migrate first.`]);
  }
  return opened;
}

/** Fails early with what to do, because every query on missing tables fails. @throws ConfigError */
export async function checkMigrated(database: GatewayDatabase): Promise<void> {
  const { length } = await pendingMigrations(database);
  if (length === 0) return;
  throw new ConfigError([
    `DATABASE_URL: the database lacks ${length} migrations. Run gatewayctl migrate with the same DATABASE_URL first, or set MIGRATE_AT_START=true.`,
  ]);
}

/** The same for commands that change nothing: an embedded database is not created, but empty. */
export async function openDatabaseToRead(env: Environment) {
  if (readDatabaseUrl(env) !== undefined) return await openCurrentDatabase(env);
  const file = await DataFolder.databaseFileOf(env);
  if (file.exists) return await openCurrentDatabase(env);
  const { openSqlite } = await import('@gateway/database/sqlite');
  const handle = openSqlite(':memory:');
  await migrate(handle);
  return openDatabase(handle, 'none', `database ${file.path}`);
}

/** Migrates the same database and names the migrations that ran, without a time limit. */
export async function migrateGatewayDatabase(env: Environment) {
  const url = readDatabaseUrl(env);
  if (url !== undefined) {
    const { migratePostgres } = await import('@gateway/database/postgres');
    return { applied: await migratePostgres(url), description: descriptionOf(url) };
  }
  await using database = await openGatewayDatabase(env);
  return { applied: await migrate(database.handle), description: database.description };
}

/** Waits until another process has migrated the tables of DATABASE_URL, and changes nothing. */
export async function waitForMigration(env: Environment, note: (text: string) => void) {
  const url = readDatabaseUrl(env);
  if (url === undefined) throw new ConfigError(['DATABASE_URL is not set. It is the database to wait for.']);
  const { waitForPostgresMigration } = await import('@gateway/database/postgres');
  await waitForPostgresMigration(url, note);
  return { applied: [], description: descriptionOf(url) };
}

/**
 * The keys of the stored token hashes: TOKEN_HASH_KEY, or the one stored beside the embedded
 * database.
 */
export async function readIdentityKeys(env: Environment): Promise<IdentityConfig> {
  checkIdentityKeys(env);
  if (new EnvReader(env).optional('TOKEN_HASH_KEY') !== undefined) return readIdentityConfig(env);
  const data = await DataFolder.open(env);
  return readIdentityConfig({ ...env, TOKEN_HASH_KEY: await data.tokenHashKey() });
}

/**
 * How credentials of accounts are stored. Without ACCOUNT_KEYS, they are encrypted with the key
 * beside the embedded database. A shared database gets none: every broker needs the same key.
 */
export async function readCredentialSettings(env: Environment): Promise<ReturnType<typeof readCredentialConfig>> {
  const settings = readCredentialConfig(env);
  if (settings.keys.length > 0 || readDatabaseUrl(env) !== undefined) return settings;
  const data = await DataFolder.open(env);
  return readCredentialConfig({ ...env, ACCOUNT_KEYS: await data.accountKeys(), ACCOUNT_KEYS_FILE: undefined });
}

/**
 * The keys for a rotation, the new one first: ACCOUNT_KEYS and, for the embedded database, the key
 * beside it, which has encrypted the accounts until then.
 * @throws ConfigError without ACCOUNT_KEYS
 */
export async function readRotationKeys(env: Environment): Promise<ReturnType<typeof readRequiredKeys>> {
  const keys = readRequiredKeys(env, noRotationKeys);
  if (readDatabaseUrl(env) !== undefined) return keys;
  const data = await DataFolder.open(env);
  const stored = await data.read('account-keys');
  if (stored === undefined) return keys;
  const known = new Set(keys.map(({ id }) => id));
  return [...keys, ...readRequiredKeys({ ACCOUNT_KEYS: stored }).filter(({ id }) => !known.has(id))];
}

const noRotationKeys =
  'ACCOUNT_KEYS is not set. Set it as for the brokers, the new key first: ACCOUNT_KEYS=k2:<new key>,k1:<present key>';

/**
 * A shared database requires the variable, because every process on it must have the same key.
 * @throws ConfigError
 */
export function checkIdentityKeys(env: Environment): void {
  readSettings(env, (reader) => {
    if (reader.optional('DATABASE_URL') === undefined) return;
    const why = 'Tokens in the database of DATABASE_URL are hashed with it.';
    reader.required('TOKEN_HASH_KEY', why, '$(openssl rand -base64 32)');
  });
  readIdentityConfig(env);
}

/** The value of DATABASE_URL. @throws ConfigError */
export function readDatabaseUrl(env: Environment): string | undefined {
  return readSettings(env, databaseUrl.optional);
}

/** The database's location without user and password. */
function descriptionOf(url: string): string {
  return `the database of DATABASE_URL (${backendText('DATABASE_URL', url)})`;
}

/**
 * The embedded database belongs to this gateway; a shared one is migrated only on request. The
 * description is for people.
 */
function openDatabase(handle: GatewayDatabase, kind: 'embedded' | 'shared' | 'none', description: string) {
  return { handle, kind, description, [Symbol.asyncDispose]: () => handle.destroy() };
}
