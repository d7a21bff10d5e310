import type { Kysely } from 'kysely';
import type { Database } from '../schema/database.ts';

const table = 'usage_events';

/** The first day of which events are kept; empty, and so before every day, when none was ever removed. */
export async function firstKeptDay(database: Kysely<Database>): Promise<string> {
  const row = await database
    .selectFrom('usage_retention')
    .select('first_day')
    .where('table_name', '=', table)
    .executeTakeFirst();
  return row?.first_day ?? '';
}

/** Says that days before `first` are removed. It never goes back: what is removed can't be kept by a later setting. */
export async function raiseFirstKeptDay(database: Kysely<Database>, first: string): Promise<void> {
  await database
    .insertInto('usage_retention')
    .values({ table_name: table, first_day: first })
    .onConflict((conflict) =>
      conflict.column('table_name').doUpdateSet({ first_day: first }).where('usage_retention.first_day', '<', first),
    )
    .execute();
}
