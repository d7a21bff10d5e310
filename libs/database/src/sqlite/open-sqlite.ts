import { Kysely } from 'kysely';
import type { Database, GatewayDatabase } from '../schema/database.ts';
import { NodeSqliteDialect } from './node-sqlite-dialect.ts';

/**
 * The database in a file, made with its folder when absent; ":memory:" for one that ends with the process. The file
 * is opened by the first query. A commit survives the end of the process; the last ones may not survive a power cut.
 */
export function openSqlite(path: string): GatewayDatabase {
  return new Kysely<Database>({ dialect: new NodeSqliteDialect(path) });
}
