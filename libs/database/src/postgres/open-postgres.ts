import { backendText, unreachableText } from '@gateway/config';
import { backendUp, type Metrics } from '@gateway/telemetry';
import { sleep } from '@gateway/time';
import { Kysely, PostgresAdapter, PostgresDialect, sql } from 'kysely';
import { type CustomTypesConfig, types } from 'pg';
import { migrate, pendingMigrations } from '../migrate.ts';
import { measureQueries } from '../query-metrics.ts';
import type { Database, GatewayDatabase } from '../schema.ts';
import { parseDatabaseUrl } from './database-url.ts';
import { answerGraceMs, PostgresConnections } from './postgres-connections.ts';

export interface PostgresOptions {
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
  /** The maximum number of connections to a server. */
  readonly maxConnections?: number;
  /** Statements that take longer are cancelled. 0: no limit. */
  readonly statementTimeoutMs?: number;
  /**
   * Where statements are measured, and where it is reported whether the servers answer. Default:
   * nowhere.
   */
  readonly metrics?: Metrics | undefined;
}

/**
 * The database behind a postgres:// URL. The URL may name several servers, one of which accepts
 * writes, and PgBouncers in transaction mode: nothing here depends on a session. Connections are
 * opened on demand; no call waits forever.
 * @throws Error when the URL is not usable.
 */
export function openPostgres(
  url: string,
  { applicationName = 'gateway', maxConnections = 10, statementTimeoutMs = 10_000, metrics }: PostgresOptions = {},
): GatewayDatabase {
  const rules = { statementTimeoutMs, onUsed: metrics && backendUp(metrics, 'postgres') };
  const pool = new PostgresConnections(parseDatabaseUrl(url), rules, {
    application_name: applicationName,
    max: maxConnections,
    // Includes the wait for a connection that others use.
    connectionTimeoutMillis: 10_000,
    ...(statementTimeoutMs > 0 && { query_timeout: statementTimeoutMs + answerGraceMs }),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: numberTypes,
  });
  const log = metrics && measureQueries(metrics, 'postgresql');
  return new Kysely<Database>({ dialect: new PooledPostgresDialect({ pool }), ...(log && { log }) });
}

/**
 * Migrates the database behind a URL, over a connection without time limits, because a migration
 * may take long.
 */
export async function migratePostgres(url: string): Promise<readonly string[]> {
  await using database = openPostgres(url, { applicationName: 'gateway-migrate', statementTimeoutMs: 0 });
  await reachPostgres(database, url);
  return await migrate(database);
}

/**
 * Waits until another process has migrated the database behind a URL, and while the server can't be
 * reached. `note` receives what it waits for.
 */
export async function waitForPostgresMigration(url: string, note: (text: string) => void): Promise<void> {
  await using database = openPostgres(url, { applicationName: 'gateway-migrate', maxConnections: 1 });
  const reasonToWait = async () => {
    await reachPostgres(database, url);
    const pending = await pendingMigrations(database);
    return pending.length === 0 ? undefined : `${pending.length} migrations have not run, ${pending[0]} first`;
  };
  for (let last: string | undefined; ; await sleep(1_000)) {
    const reason = await reasonToWait().catch((thrown: unknown) =>
      thrown instanceof Error ? thrown.message : String(thrown),
    );
    if (reason === undefined) return;
    if (reason !== last) note(`waiting: ${reason}`);
    last = reason;
  }
}

/**
 * Checks that the Postgres of DATABASE_URL is usable.
 * @throws an error that names the server and says what to do.
 */
export async function reachPostgres(database: GatewayDatabase, url: string): Promise<void> {
  await sql`select 1`.execute(database).catch((thrown: unknown) => {
    throw new Error(problemText(url, thrown), { cause: thrown });
  });
}

function problemText(url: string, thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined;
  // An error that the server itself raised has a code of five characters that does not start with
  // E. @see https://www.postgresql.org/docs/current/errcodes-appendix.html
  if (code !== undefined && /^(?!E)[0-9A-Z]{5}$/.test(code)) {
    return `DATABASE_URL: ${backendText('DATABASE_URL', url)} refuses the connection (${message}). Correct DATABASE_URL or the server's settings.`;
  }
  return unreachableText('DATABASE_URL', url, code ?? message);
}

/**
 * Kysely's Postgres dialect for a pooler, where each transaction may use another server connection.
 */
class PooledPostgresDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new PooledPostgresAdapter();
  }
}

/**
 * `migrate` takes a lock that ends with its transaction. A lock of a session would be left behind
 * in the pooler.
 */
class PooledPostgresAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

/** Converts Postgres values to ours: int8 becomes a number, as SQLite returns it. */
const numberTypes: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? toSafeInteger : types.getTypeParser(oid, format)),
};

/** @throws RangeError for a value that a number can't hold exactly. */
function toSafeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} exceeds the largest exact integer`);
  return value;
}
