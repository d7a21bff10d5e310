import { resolve } from 'node:path';
import { backendText, type Environment, EnvReader } from '@gateway/config';
import { type GatewayDatabase, migrate } from '@gateway/database';
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
