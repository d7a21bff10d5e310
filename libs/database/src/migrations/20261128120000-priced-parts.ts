import { type Kysely, sql } from 'kysely';

/**
 * The parts of a request that have prices of their own, and what of them has no price. An ingest of
 * the previous release writes none of these: its rows are of one part.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table usage_events add column parts text`.execute(database);
  for (const table of ['usage_events', 'usage_daily', 'usage_daily_by_account', 'usage_daily_by_group']) {
    for (const column of ['unpriced_tokens', 'unpriced_calls']) {
      await sql`alter table ${sql.table(table)} add column ${sql.ref(column)} bigint not null default 0`.execute(
        database,
      );
    }
  }
}
