import { type Environment, EnvReader } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import { DataFolder } from './data-folder.ts';

export interface OpenDatabase extends AsyncDisposable {
  readonly handle: GatewayDatabase;
  /** What it is, in words for a person. */
  readonly description: string;
}

/** The database of DATABASE_URL, else the embedded one in the data folder. */
export async function openGatewayDatabase(env: Environment): Promise<OpenDatabase> {
  const reader = new EnvReader(env);
  const url = reader.optionalUrl('DATABASE_URL', 'postgres://user:password@127.0.0.1:5432/gateway', [
    'postgres',
    'postgresql',
  ]);
  reader.done();
  return url === undefined ? openEmbedded(env) : openPostgresAt(url);
}

async function openPostgresAt(url: string): Promise<OpenDatabase> {
  const { openPostgres } = await import('@gateway/database/postgres');
  return opened(openPostgres(url), 'the Postgres database of DATABASE_URL');
}

async function openEmbedded(env: Environment): Promise<OpenDatabase> {
  const { openSqlite } = await import('@gateway/database/sqlite');
  const { databaseFile } = await DataFolder.open(env);
  return opened(openSqlite(databaseFile), `the embedded database ${databaseFile}`);
}

function opened(handle: GatewayDatabase, description: string): OpenDatabase {
  return { handle, description, [Symbol.asyncDispose]: () => handle.destroy() };
}
