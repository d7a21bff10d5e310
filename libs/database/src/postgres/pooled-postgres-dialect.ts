import { PostgresAdapter, PostgresDialect, type QueryExecutorProvider, sql } from 'kysely';

/** Kysely's Postgres, for connections whose next transaction may be another server connection's. */
export class PooledPostgresDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new PooledPostgresAdapter();
  }
}

/** Migrations run in one transaction, and their lock ends with it: one of a session would be left behind in the pooler. */
class PooledPostgresAdapter extends PostgresAdapter {
  override async acquireMigrationLock(database: QueryExecutorProvider): Promise<void> {
    await lockMigrations(database);
  }

  override async releaseMigrationLock(): Promise<void> {}
}

/** Waits at most an hour. The number is that of Kysely's own lock, which older releases take. */
export async function lockMigrations(transaction: QueryExecutorProvider): Promise<void> {
  await sql`
    with limited as (select set_config('lock_timeout', '1h', true))
    select pg_advisory_xact_lock(3853314791062309107) from limited`.execute(transaction);
}
