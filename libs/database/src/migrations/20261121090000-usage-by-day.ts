import { type Kysely, sql } from 'kysely';
import { isPostgres } from '../database-kind.ts';

/**
 * Keeps events by day: as partitions in Postgres, in the order of days in SQLite. All rows are copied. An ingest of the
 * release before can't write to the new table: it gives its messages back until it is replaced, and loses none.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await createRetention(database);
  await (isPostgres(database) ? partitionEvents(database) : orderEvents(database));
  await database.schema.createIndex('usage_daily_by_day').on('usage_daily').column('local_day').execute();
}

async function createRetention(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('usage_retention')
    .addColumn('table_name', 'text', (column) => column.primaryKey().notNull())
    .addColumn('first_day', 'text', (column) => column.notNull())
    .execute();
}

async function partitionEvents(database: Kysely<unknown>): Promise<void> {
  await sql`alter table usage_events rename to usage_events_of_all_days`.execute(database);
  await sql`alter index usage_events_pkey rename to usage_events_of_all_days_pkey`.execute(database);
  // Keys are compared as bytes, which is quicker than by the rules of a language, and means the same everywhere.
  await sql`
    create table usage_events (
      request_id text collate "C" not null,
      token_id text not null,
      admitted_at_ms bigint not null,
      local_day text collate "C" not null,
      endpoint text not null,
      provider text not null,
      model text not null,
      input_tokens bigint not null,
      cached_tokens bigint not null,
      output_tokens bigint not null,
      reasoning_tokens bigint not null,
      estimated bigint not null,
      outcome text not null,
      primary key (local_day, request_id)
    ) partition by list (local_day)`.execute(database);
  const { rows } = await sql<{ local_day: string }>`
    select distinct local_day from usage_events_of_all_days order by local_day`.execute(database);
  for (const { local_day: day } of rows) {
    const partition = sql.table(`usage_events_${day.replaceAll('-', '_')}`);
    await sql`create table ${partition} partition of usage_events for values in (${sql.lit(day)})`.execute(database);
  }
  await sql`insert into usage_events (${columns}) select ${columns} from usage_events_of_all_days`.execute(database);
  await sql`drop table usage_events_of_all_days`.execute(database);
}

async function orderEvents(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table usage_events_by_day (
      request_id text not null,
      token_id text not null,
      admitted_at_ms bigint not null,
      local_day text not null,
      endpoint text not null,
      provider text not null,
      model text not null,
      input_tokens bigint not null,
      cached_tokens bigint not null,
      output_tokens bigint not null,
      reasoning_tokens bigint not null,
      estimated bigint not null,
      outcome text not null,
      primary key (local_day, request_id)
    ) without rowid`.execute(database);
  await sql`insert into usage_events_by_day (${columns}) select ${columns} from usage_events`.execute(database);
  await sql`drop table usage_events`.execute(database);
  await sql`alter table usage_events_by_day rename to usage_events`.execute(database);
}

const columns = sql.join(
  [
    'request_id',
    'token_id',
    'admitted_at_ms',
    'local_day',
    'endpoint',
    'provider',
    'model',
    'input_tokens',
    'cached_tokens',
    'output_tokens',
    'reasoning_tokens',
    'estimated',
    'outcome',
  ].map((name) => sql.ref(name)),
);
