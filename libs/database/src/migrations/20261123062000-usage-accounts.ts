import { type Kysely, sql } from 'kysely';

/**
 * Says of usage which account it was of. The sums of accounts have a table of their own: an ingest of the release before goes on
 * adding to `usage_daily` by its key, and what it adds is of no known account.
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
