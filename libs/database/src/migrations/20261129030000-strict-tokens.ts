import { type Kysely, sql } from 'kysely';

/** Tokens per day that requests reserve before they run. Null, as before: they do not. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table tokens add column strict_tokens bigint`.execute(database);
  await sql`alter table token_groups add column strict_tokens bigint`.execute(database);
}
