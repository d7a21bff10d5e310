import { type Kysely, sql } from 'kysely';

/** Provider accounts that operators manage, and the tokens of accounts that need refreshing. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table accounts (
      account_id text primary key not null,
      pool text not null,
      name text not null,
      models text,
      max_concurrency bigint,
      credential_kind text not null,
      credential text not null,
      key_id text not null,
      state text not null,
      created_at_ms bigint not null,
      updated_at_ms bigint not null
    )`.execute(database);
  await sql`
    create table account_grants (
      account_id text not null,
      origin text not null,
      version bigint not null,
      tokens text,
      key_id text,
      problem text,
      updated_at_ms bigint not null,
      fence bigint not null default 0,
      locked_by text,
      locked_until_ms bigint,
      constraint account_grants_key primary key (account_id, origin)
    )`.execute(database);
}
