import { type Kysely, sql } from 'kysely';

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table tokens (
      token_id text primary key not null,
      kind text not null,
      label text not null,
      requests_per_minute bigint,
      tokens_per_day bigint,
      hash_key_id text not null,
      token_hash text not null unique,
      created_at_ms bigint not null,
      revoked_at_ms bigint,
      change_sequence bigint not null default 0
    )`.execute(database);
  await sql`create index tokens_by_change_sequence on tokens (change_sequence)`.execute(database);
  await sql`create table sequences (name text primary key not null, last_value bigint not null)`.execute(database);
  await sql`
    create table audit_log (
      audit_id text primary key not null,
      at_ms bigint not null,
      action text not null,
      subject text not null,
      details text not null
    )`.execute(database);
  await sql`create index audit_log_by_subject on audit_log (subject, at_ms)`.execute(database);
}
