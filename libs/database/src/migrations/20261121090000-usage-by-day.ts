import { type Kysely, sql } from 'kysely';
import { isPostgres } from '../dialect.ts';
import { eventColumns } from './20261120090100-usage.ts';

/**
 * Organises events by day: as partitions in Postgres, sorted by day in SQLite. It copies all rows.
 * An ingest of the previous release can't write to the new table: it returns its messages to the
 * stream until it is replaced, and loses none.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table usage_retention (table_name text primary key not null, first_day text not null)`.execute(database);
  await sql`alter table usage_events rename to usage_events_of_all_days`.execute(database);
  await (isPostgres(database) ? createPartitions(database) : createInOrder(database));
  // Both tables have the same columns in the same order.
  await sql`insert into usage_events select * from usage_events_of_all_days`.execute(database);
  await sql`drop table usage_events_of_all_days`.execute(database);
  await sql`create index usage_daily_by_day on usage_daily (local_day)`.execute(database);
}

async function createPartitions(database: Kysely<unknown>): Promise<void> {
  await sql`alter index usage_events_pkey rename to usage_events_of_all_days_pkey`.execute(database);
  // Keys are compared as bytes, which is faster than a language's collation, and the same
  // everywhere.
  await sql`
    create table usage_events (${eventColumns('collate "C"')}, primary key (local_day, request_id))
    partition by list (local_day)`.execute(database);
  const { rows } = await sql<{ local_day: string }>`
    select distinct local_day from usage_events_of_all_days order by local_day`.execute(database);
  for (const { local_day: day } of rows) {
    const partition = sql.table(`usage_events_${day.replaceAll('-', '_')}`);
    await sql`create table ${partition} partition of usage_events for values in (${sql.lit(day)})`.execute(database);
  }
}

async function createInOrder(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table usage_events (${eventColumns('')}, primary key (local_day, request_id)) without rowid`.execute(
    database,
  );
}
