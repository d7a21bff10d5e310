import { sleep } from '@gateway/time';
import { sql } from 'kysely';
import { isPostgres } from './dialect.ts';
import { pendingMigrations } from './migrate.ts';
import type { GatewayDatabase } from './schema.ts';

/**
 * Checks whether a database is usable. Returns the reason if it is not, or undefined. The result
 * comes within `timeoutMs`, whatever the database does.
 */
export function createDatabaseProbe(database: GatewayDatabase, timeoutMs = 2_000): () => Promise<string | undefined> {
  const away = `${isPostgres(database) ? 'DATABASE_URL: ' : ''}the database does not answer`;
  // Migrations are never reverted, so the probe stops checking once none is missing.
  let migrated = false;

  const problem = async (): Promise<string | undefined> => {
    if (migrated) {
      await sql`select 1`.execute(database);
      return undefined;
    }
    const pending = await pendingMigrations(database);
    migrated = pending.length === 0;
    return migrated ? undefined : `the database lacks ${pending.length} migrations: run gatewayctl migrate`;
  };

  return () => Promise.race([problem().catch(() => away), sleep(timeoutMs, { ref: false }).then(() => away)]);
}
