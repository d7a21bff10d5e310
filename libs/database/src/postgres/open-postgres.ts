import { Kysely } from 'kysely';
import { Pool } from 'pg';
import { migrate } from '../migrate.ts';
import type { Database, GatewayDatabase } from '../schema/database.ts';
import { numberTypes } from './number-types.ts';
import { PooledPostgresDialect } from './pooled-postgres-dialect.ts';
import { answerGraceMs, PostgresConnections } from './postgres-connections.ts';
import { reachPostgres } from './reach-postgres.ts';

export { reachPostgres };

export interface PostgresOptions {
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
  /** Connections held at most. */
  readonly maxConnections?: number;
  /** After so long a statement is ended. 0: never. */
  readonly statementTimeoutMs?: number;
}

/**
 * The database behind a postgres:// URL, which may be a PgBouncer's in transaction mode: nothing here belongs to a session.
 * Connections are made when needed; no call on it waits for ever.
 */
export function openPostgres(
  url: string,
  { applicationName = 'gateway', maxConnections = 10, statementTimeoutMs = 10_000 }: PostgresOptions = {},
): GatewayDatabase {
  const pool = new Pool({
    connectionString: url,
    application_name: applicationName,
    max: maxConnections,
    connectionTimeoutMillis: 3_000,
    ...(statementTimeoutMs > 0 && { query_timeout: statementTimeoutMs + answerGraceMs }),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: numberTypes,
  });
  const connections = new PostgresConnections(pool, statementTimeoutMs);
  return new Kysely<Database>({ dialect: new PooledPostgresDialect({ pool: connections }) });
}

/** Migrates the database behind a URL, over a connection without time limits: a migration may take its time. */
export async function migratePostgres(url: string): Promise<readonly string[]> {
  await using database = openPostgres(url, { applicationName: 'gateway-migrate', statementTimeoutMs: 0 });
  await reachPostgres(database, url);
  return await migrate(database);
}
