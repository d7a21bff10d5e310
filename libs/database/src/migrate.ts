import { sql } from 'kysely';
import { type MigrationResultSet, Migrator } from 'kysely/migration';
import { isPostgres } from './dialect.ts';
import * as migrations from './migrations/index.ts';
import type { GatewayDatabase } from './schema.ts';

/**
 * Runs the missing migrations and returns their names, in order. Several processes may call it at
 * once: one runs the migrations; the others wait and find nothing to do. A database that is newer
 * than this code stays as it is, so that a release can be rolled back.
 */
export async function migrate(database: GatewayDatabase): Promise<readonly string[]> {
  if ((await pendingMigrations(database)).length === 0) return [];
  const { results = [] } = isPostgres(database)
    ? await database.transaction().execute(async (transaction) => {
        // Runs before the migrator reads its own tables. Waits at most an hour for Kysely's own
        // lock, which older releases take.
        await sql`
          with limited as (select set_config('lock_timeout', '1h', true))
          select pg_advisory_xact_lock(3853314791062309107) from limited`.execute(transaction);
        return await migrateToLatest(transaction);
      })
    : await migrateToLatest(database);
  return results.map(({ migrationName }) => migrationName);
}

/** The migrations that a database lacks, in order. */
export async function pendingMigrations(database: GatewayDatabase): Promise<readonly string[]> {
  const known = await migratorOf(database).getMigrations();
  return known.filter(({ executedAt }) => executedAt === undefined).map(({ name }) => name);
}

/** @throws the failure, so that the surrounding transaction is rolled back. */
async function migrateToLatest(database: GatewayDatabase): Promise<MigrationResultSet> {
  const outcome = await migratorOf(database).migrateToLatest();
  if (outcome.error !== undefined) throw outcome.error;
  return outcome;
}

function migratorOf(database: GatewayDatabase): Migrator {
  return new Migrator({ db: database, provider: { getMigrations: async () => ({ ...migrations }) } });
}
