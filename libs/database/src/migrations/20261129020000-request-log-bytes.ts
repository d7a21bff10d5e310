import { type Kysely, sql } from 'kysely';
import { isPostgres } from '../dialect.ts';

/** Entries of the request log as bytes. This release can't read those of the previous one. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const type = sql.raw(isPostgres(database) ? 'bytea' : 'blob');
  await sql`alter table request_log add column entry_bytes ${type}`.execute(database);
  await sql`alter table request_log drop column entry`.execute(database);
}
