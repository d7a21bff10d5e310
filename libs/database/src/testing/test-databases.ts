import { createTestDatabase, startPgBouncer, type TestServer, testBackends } from '@gateway/testkit';
import { migrate } from '../migrate.ts';
import { openPostgres } from '../postgres/open-postgres.ts';
import type { GatewayDatabase } from '../schema.ts';
import { openSqlite } from '../sqlite/open-sqlite.ts';

/** A fresh database with all tables. Disposal removes it. */
export interface MigratedTestDatabase extends AsyncDisposable {
  readonly database: GatewayDatabase;
}

/**
 * The kinds of database, for suites that test the same behaviours on each:
 * `describe.each(testDatabases)`. The long form of the tests adds a Postgres behind PgBouncer in
 * transaction mode.
 */
export const testDatabases: readonly { readonly name: string; open(): Promise<MigratedTestDatabase> }[] = [
  { name: 'SQLite', open: openTestSqlite },
  { name: 'Postgres', open: () => openTestPostgres() },
  ...(process.env.FAULTS === 'long' ? [{ name: 'Postgres behind PgBouncer', open: openBehindPgBouncer }] : []),
];

/** A SQLite database in memory: enough for unit tests. */
export async function openTestSqlite(): Promise<MigratedTestDatabase> {
  const database = openSqlite(':memory:');
  await migrate(database);
  return { database, [Symbol.asyncDispose]: () => database.destroy() };
}

let bouncer: Promise<TestServer> | undefined;

/**
 * One PgBouncer for all tests of a process, which ends with the process. It has few connections, so
 * that state left in a session soon affects others.
 */
async function openBehindPgBouncer(): Promise<MigratedTestDatabase> {
  bouncer ??= startPgBouncer({ ...(await testBackends()), serverConnections: 4 });
  return openTestPostgres((await bouncer).port);
}

/** A Postgres database with all tables. */
export async function openTestPostgres(throughPort?: number): Promise<MigratedTestDatabase> {
  await using stack = new AsyncDisposableStack();
  const url = new URL(stack.use(await createTestDatabase()).url);
  if (throughPort !== undefined) url.port = String(throughPort);
  const database = stack.use(openPostgres(url.href));
  await migrate(database);
  const opened = stack.move();
  return { database, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
