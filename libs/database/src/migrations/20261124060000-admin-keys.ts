import { type Kysely, sql } from 'kysely';

/** Keys that all replicas of the admin service share, by purpose. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table admin_keys (
      purpose text primary key not null,
      secret text not null,
      created_at_ms bigint not null
    )`.execute(database);
}
