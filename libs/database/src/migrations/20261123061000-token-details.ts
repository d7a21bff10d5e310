import { type Kysely, sql } from 'kysely';

/**
 * When tokens expire, operators' notes, the number of changes, and the text of a token before its
 * last rotation.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table tokens add column note text not null default ''`.execute(database);
  await sql`alter table tokens add column expires_at_ms bigint`.execute(database);
  await sql`alter table tokens add column revision bigint not null default 1`.execute(database);
  await sql`alter table tokens add column previous_hash_key_id text`.execute(database);
  await sql`alter table tokens add column previous_token_hash text`.execute(database);
  await sql`alter table tokens add column previous_until_ms bigint`.execute(database);
  await sql`create index tokens_by_previous_hash on tokens (previous_token_hash)`.execute(database);
  await sql`create index tokens_by_creation on tokens (created_at_ms, token_id)`.execute(database);
}
