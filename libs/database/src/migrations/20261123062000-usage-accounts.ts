import { type Kysely, sql } from 'kysely';

/**
 * Records which account usage belongs to. The sums per account have a table of their own: an ingest
 * of the previous release still adds to `usage_daily` by its key, and those sums belong to no known
 * account.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table usage_events add column account_id text not null default ''`.execute(database);
  await sql`
    create table usage_daily_by_account (
      token_id text not null,
      local_day text not null,
      provider text not null,
      model text not null,
      account_id text not null,
      requests bigint not null,
      input_tokens bigint not null,
      cached_tokens bigint not null,
      output_tokens bigint not null,
      constraint usage_daily_by_account_key primary key (token_id, local_day, provider, model, account_id)
    )`.execute(database);
  await sql`create index usage_daily_by_account_by_day on usage_daily_by_account (local_day)`.execute(database);
}
