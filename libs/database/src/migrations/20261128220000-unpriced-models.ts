import { type Kysely, sql } from 'kysely';

/** What a group with a budget does with models without a price. Null, as before: refuse them. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table token_groups add column unpriced_models text`.execute(database);
}
