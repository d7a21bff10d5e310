import { sleep } from '@gateway/time';
import { sql } from 'kysely';
import { isPostgres } from './dialect.ts';
import { pendingMigrations } from './migrate.ts';
import type { GatewayDatabase } from './schema.ts';

/**
 * Checks whether a database is usable. Returns the reason if it is not, or undefined. The result
 * comes within `timeoutMs`, whatever the database does: while a check is slow, the result of the
 * one before counts, so that an overloaded database does not take its services out of service.
 */
export function createDatabaseProbe(database: GatewayDatabase, timeoutMs = 2_000): () => Promise<string | undefined> {
  const away = `${isPostgres(database) ? 'DATABASE_URL: ' : ''}the database does not answer`;
  // Migrations are never reverted, so the probe stops checking once none is missing.
  let migrated = false;
  let last: string | undefined = away;
  let checking: Promise<void> | undefined;

  const problem = async (): Promise<string | undefined> => {
    if (migrated) {
      await sql`select 1`.execute(database);
      return undefined;
    }
    const pending = await pendingMigrations(database);
    migrated = pending.length === 0;
    return migrated ? undefined : `the database lacks ${pending.length} migrations: run gatewayctl migrate`;
  };

  const check = async () => {
    last = await problem().catch(() => away);
    checking = undefined;
  };

  return async () => {
    checking ??= check();
    await Promise.race([checking, sleep(timeoutMs, { ref: false })]);
    return last;
  };
}
