import { Migrator } from 'kysely/migration';
import { migrations } from './migrations/index.ts';
import type { GatewayDatabase } from './schema/database.ts';

/**
 * Brings the tables up to date and gives the names of the migrations that ran, in order. Safe to call from several
 * processes at once: one runs them, the others wait and find nothing to do. A database that is newer than this code
 * is left as it is, so that a release can be taken back.
 */
export async function migrate(database: GatewayDatabase): Promise<readonly string[]> {
  if ((await pendingMigrations(database)).length === 0) return [];
  const { error, results = [] } = await migratorOf(database).migrateToLatest();
  if (error !== undefined) throw error;
  return results.map(({ migrationName }) => migrationName);
}

/** The migrations that have not run on a database yet, in order. */
export async function pendingMigrations(database: GatewayDatabase): Promise<readonly string[]> {
  const known = await migratorOf(database).getMigrations();
  return known.filter(({ executedAt }) => executedAt === undefined).map(({ name }) => name);
}

function migratorOf(database: GatewayDatabase): Migrator {
  return new Migrator({ db: database, provider: { getMigrations: async () => ({ ...migrations }) } });
}
