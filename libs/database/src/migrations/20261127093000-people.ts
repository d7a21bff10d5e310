import { type Kysely, sql } from 'kysely';

/** People who sign in from their client, their device grants and sessions. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table people (
      person_id text not null primary key,
      issuer text not null,
      subject text not null,
      email text not null,
      name text not null,
      group_id text,
      created_at_ms bigint not null,
      last_seen_at_ms bigint not null,
      disabled_at_ms bigint,
      constraint people_subject unique (issuer, subject)
    )`.execute(database);
  await sql`create index people_by_last_seen on people (last_seen_at_ms, person_id)`.execute(database);
  await sql`
    create table device_grants (
      device_code_hash text not null primary key,
      user_code_hash text not null,
      state text not null,
      surface text not null,
      client text not null,
      address text not null,
      person_id text,
      created_at_ms bigint not null,
      expires_at_ms bigint not null,
      polled_at_ms bigint not null,
      constraint device_grants_user_code unique (user_code_hash)
    )`.execute(database);
  await sql`create index device_grants_by_expiry on device_grants (expires_at_ms)`.execute(database);
  await sql`
    create table person_sessions (
      session_id text not null primary key,
      person_id text not null,
      token_id text not null,
      seed text not null,
      hash_key_id text not null,
      generation bigint not null,
      rotated_at_ms bigint not null,
      surface text not null,
      client text not null,
      address text not null,
      created_at_ms bigint not null,
      ended_at_ms bigint
    )`.execute(database);
  await sql`create index person_sessions_by_person on person_sessions (person_id)`.execute(database);
  await sql`create index person_sessions_by_token on person_sessions (token_id)`.execute(database);
  await sql`alter table tokens add column person_id text`.execute(database);
  await sql`create index tokens_by_person on tokens (person_id)`.execute(database);
}
