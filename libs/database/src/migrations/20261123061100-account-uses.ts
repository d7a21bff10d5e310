import { type Kysely, sql } from 'kysely';

/** The state that operators want for accounts of gateway.yaml, where it differs from the file. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table account_uses (
      account_id text primary key not null,
      use_state text not null,
      file_state text not null,
      updated_at_ms bigint not null
    )`.execute(database);
}
