import { PostgresAdapter, type QueryExecutor } from 'kysely';

/** Whether a database is Postgres, for what SQLite does in another way. */
export function isPostgres(database: { getExecutor(): QueryExecutor }): boolean {
  return database.getExecutor().adapter instanceof PostgresAdapter;
}
