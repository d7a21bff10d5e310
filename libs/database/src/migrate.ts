import { sql } from 'kysely';
import { type MigrationResultSet, Migrator } from 'kysely/migration';
import { isPostgres } from './dialect.ts';
import { migrations } from './migrations/index.ts';
import type { GatewayDatabase } from './schema.ts';

/**
 * Brings the tables up to date and gives the names of the migrations that ran, in order. Safe to call from several
 * processes at once: one runs them, the others wait and find nothing to do. A database that is newer than this code
 * is left as it is, so that a release can be taken back.
 */
export async function migrate(database: GatewayDatabase): Promise<readonly string[]> {
  if ((await pendingMigrations(database)).length === 0) return [];
  const { results = [] } = isPostgres(database)
    ? await database.transaction().execute(async (transaction) => {
        // Before the migrator looks at its own tables. At most an hour, for Kysely's own lock, which older releases take.
        await sql`
          with limited as (select set_config('lock_timeout', '1h', true))
          select pg_advisory_xact_lock(3853314791062309107) from limited`.execute(transaction);
        return await migrateToLatest(transaction);
      })
    : await migrateToLatest(database);
  return results.map(({ migrationName }) => migrationName);
}

/** The migrations that have not run on a database yet, in order. */
export async function pendingMigrations(database: GatewayDatabase): Promise<readonly string[]> {
  const known = await migratorOf(database).getMigrations();
  return known.filter(({ executedAt }) => executedAt === undefined).map(({ name }) => name);
}

/** @throws what went wrong, so that a transaction around it is undone. */
async function migrateToLatest(database: GatewayDatabase): Promise<MigrationResultSet> {
  const outcome = await migratorOf(database).migrateToLatest();
  if (outcome.error !== undefined) throw outcome.error;
  return outcome;
}

function migratorOf(database: GatewayDatabase): Migrator {
  return new Migrator({ db: database, provider: { getMigrations: async () => ({ ...migrations }) } });
}
