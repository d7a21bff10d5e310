import { type Kysely, sql } from 'kysely';

/**
 * Groups of tokens, what tokens may use, and the labels of accounts. A token of the previous
 * release has no group and no restriction.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table token_groups (
      group_id text not null primary key,
      name text not null,
      note text not null,
      requests_per_minute bigint,
      tokens_per_day bigint,
      concurrent_requests bigint,
      budget_micros bigint,
      budget_period text,
      allowed_models text,
      account_labels text,
      created_at_ms bigint not null,
      revision bigint not null,
      constraint token_groups_by_name unique (name)
    )`.execute(database);
  await sql`alter table tokens add column group_id text`.execute(database);
  await sql`alter table tokens add column concurrent_requests bigint`.execute(database);
  await sql`alter table tokens add column allowed_models text`.execute(database);
  await sql`alter table tokens add column account_labels text`.execute(database);
  await sql`create index tokens_by_group on tokens (group_id)`.execute(database);
  await sql`alter table accounts add column labels text`.execute(database);
}
