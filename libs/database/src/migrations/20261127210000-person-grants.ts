import { type Kysely, sql } from 'kysely';

/** What the OpenID Connect provider granted at the sign-in of a person, to look the person up. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table person_grants (
      person_id text not null primary key,
      key_id text not null,
      refresh_token text not null,
      created_at_ms bigint not null,
      due_at_ms bigint not null
    )`.execute(database);
  await sql`create index person_grants_by_due on person_grants (due_at_ms)`.execute(database);
}
