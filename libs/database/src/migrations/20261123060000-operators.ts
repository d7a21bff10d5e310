import { type Kysely, sql } from 'kysely';

/** The operators who may sign in to the admin service, their sessions, and the audit log. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table operators (
      operator_id text primary key not null,
      name text not null,
      role text not null,
      token_hash text,
      oidc_subject text,
      created_at_ms bigint not null,
      last_seen_at_ms bigint,
      disabled_at_ms bigint,
      revision bigint not null,
      constraint operators_name unique (name),
      constraint operators_token unique (token_hash),
      constraint operators_subject unique (oidc_subject)
    )`.execute(database);
  await sql`
    create table operator_sessions (
      session_hash text primary key not null,
      operator_id text,
      token_id text,
      token_revision bigint,
      csrf_token text not null,
      created_at_ms bigint not null,
      used_at_ms bigint not null,
      expires_at_ms bigint not null
    )`.execute(database);
  await sql`create index operator_sessions_operator on operator_sessions (operator_id)`.execute(database);
  await sql`alter table audit_log add column actor text not null default ''`.execute(database);
  await sql`alter table audit_log add column address text not null default ''`.execute(database);
  await sql`alter table audit_log add column outcome text not null default 'done'`.execute(database);
  await sql`create index audit_log_by_time on audit_log (at_ms, audit_id)`.execute(database);
}
