import { type Kysely, sql } from 'kysely';

/** Console sessions of people who have no role. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table operator_sessions add column person_id text`.execute(database);
}
