import { resolve } from 'node:path';
import { backendText, type Environment, EnvReader } from '@gateway/config';
import { type GatewayDatabase, migrate, pendingMigrations } from '@gateway/database';
import { type IdentityConfig, readIdentityConfig } from '@gateway/identity/config';
import { AccountTable } from '@gateway/pool-broker/credentials/account-table';
import { DataFolder } from './data-folder.ts';

export interface OpenDatabase extends AsyncDisposable {
  readonly handle: GatewayDatabase;
  /** The embedded one is this gateway's own; a shared one is migrated only when a person says so. */
  readonly kind: 'embedded' | 'shared';
  /** What it is, in words for a person. */
  readonly description: string;
}

/** The database of DATABASE_URL, else the embedded one in the data folder. */
export async function openGatewayDatabase(env: Environment, use: DatabaseUse = 'commands'): Promise<OpenDatabase> {
  const url = readDatabaseUrl(env);
  return url === undefined ? openEmbedded(env, use) : openPostgresAt(url);
}

/** DATABASE_URL, or the folder of the embedded database. @throws ConfigError */
export async function checkDatabaseSettings(env: Environment): Promise<void> {
  if (readDatabaseUrl(env) === undefined) await DataFolder.open(env);
}

/** `requests`: the process answers requests meanwhile, and must not wait for the disk. */
export type DatabaseUse = 'commands' | 'requests';

/** Brings the same database up to date and names the migrations that ran. Takes as long as it takes. */
export async function migrateGatewayDatabase(env: Environment) {
  const url = readDatabaseUrl(env);
  if (url !== undefined) {
    const { migratePostgres } = await import('@gateway/database/postgres');
    return { applied: await migratePostgres(url), description: descriptionOf(url) };
  }
  await using database = await openEmbedded(env, 'commands');
  return { applied: await migrate(database.handle), description: database.description };
}

/** Whether operators keep provider accounts in the gateway's database. Tables that were not made yet hold none. */
export async function hasStoredAccounts(env: Environment): Promise<boolean> {
  await using database = await openGatewayDatabase(env);
  if ((await pendingMigrations(database.handle)).length > 0) return false;
  return (await new AccountTable(database.handle).list()).length > 0;
}

/** The keys of the stored token hashes: TOKEN_HASH_KEY, else the one kept beside the embedded database. */
export async function readIdentityKeys(env: Environment): Promise<IdentityConfig> {
  checkIdentityKeys(env);
  if (new EnvReader(env).optional('TOKEN_HASH_KEY') !== undefined) return readIdentityConfig(env);
  const data = await DataFolder.open(env);
  return readIdentityConfig({ TOKEN_HASH_KEY: await data.tokenHashKey() });
}

/** A shared database needs the variable, since every process on it must have the same key. @throws ConfigError */
export function checkIdentityKeys(env: Environment): void {
  const reader = new EnvReader(env);
  if (reader.optional('DATABASE_URL') !== undefined) {
    reader.required(
      'TOKEN_HASH_KEY',
      'Token hashes in the database of DATABASE_URL are made with it.',
      '$(openssl rand -base64 32)',
    );
  }
  reader.done();
  readIdentityConfig(env);
}

/** Where it is, without user and password. */
function descriptionOf(url: string): string {
  return `the database of DATABASE_URL (${backendText('DATABASE_URL', url)})`;
}

function readDatabaseUrl(env: Environment): string | undefined {
  const reader = new EnvReader(env);
  const schemes = ['postgres', 'postgresql'];
  const url = reader.optionalUrl('DATABASE_URL', 'postgres://user:password@127.0.0.1:5432/gateway', schemes);
  reader.done();
  return url;
}

async function openPostgresAt(url: string): Promise<OpenDatabase> {
  const { openPostgres, reachPostgres } = await import('@gateway/database/postgres');
  await using opening = new AsyncDisposableStack();
  const handle = opening.use(openPostgres(url));
  await reachPostgres(handle, url);
  opening.move();
  return opened(handle, 'shared', descriptionOf(url));
}

async function openEmbedded(env: Environment, use: DatabaseUse): Promise<OpenDatabase> {
  const { openSqlite } = await import('@gateway/database/sqlite');
  const { databaseFile } = await DataFolder.open(env);
  const handle = openSqlite(databaseFile, use === 'requests' ? { checkpointMs } : {});
  return opened(handle, 'embedded', `the embedded database ${resolve(databaseFile)}`);
}

/** Long enough for pages that change with every commit to be copied once for many of them. */
const checkpointMs = 5_000;

function opened(handle: GatewayDatabase, kind: OpenDatabase['kind'], description: string): OpenDatabase {
  return { handle, kind, description, [Symbol.asyncDispose]: () => handle.destroy() };
}
