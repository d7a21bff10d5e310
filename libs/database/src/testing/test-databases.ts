import { createTestDatabase } from '@gateway/testkit';
import { migrate } from '../migrate.ts';
import { openPostgres } from '../postgres/open-postgres.ts';
import type { GatewayDatabase } from '../schema.ts';
import { openSqlite } from '../sqlite/open-sqlite.ts';

/** A fresh database with all tables. Disposing it removes it. */
export interface MigratedTestDatabase extends AsyncDisposable {
  readonly database: GatewayDatabase;
}

/** Both kinds of database, for suites that test the same behaviours on each: `describe.each(testDatabases)`. */
export const testDatabases: readonly { readonly name: string; open(): Promise<MigratedTestDatabase> }[] = [
  { name: 'SQLite', open: openTestSqlite },
  { name: 'Postgres', open: openTestPostgres },
];

/** A SQLite database in memory: enough for unit tests. */
export async function openTestSqlite(): Promise<MigratedTestDatabase> {
  const database = openSqlite(':memory:');
  await migrate(database);
  return { database, [Symbol.asyncDispose]: () => database.destroy() };
}

async function openTestPostgres(): Promise<MigratedTestDatabase> {
  await using stack = new AsyncDisposableStack();
  const { url } = stack.use(await createTestDatabase());
  const database = stack.use(openPostgres(url));
  await migrate(database);
  const opened = stack.move();
  return { database, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
