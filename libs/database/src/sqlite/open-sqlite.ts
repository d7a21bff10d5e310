import { Kysely } from 'kysely';
import type { Database, GatewayDatabase } from '../schema/database.ts';
import { NodeSqliteDialect } from './node-sqlite-dialect.ts';

export interface SqliteOptions {
  /** A thread does the checkpoints, so often; without it commits do them. For a process whose loop must not wait for the disk. */
  readonly checkpointMs?: number;
}

/**
 * The database in a file, made with its folder when absent; ":memory:" for one that ends with the process. The file
 * is opened by the first query. A commit survives the end of the process; the last ones may not survive a power cut.
 */
export function openSqlite(path: string, { checkpointMs }: SqliteOptions = {}): GatewayDatabase {
  return new Kysely<Database>({ dialect: new NodeSqliteDialect(path, checkpointMs) });
}
