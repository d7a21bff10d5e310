import type { Kysely } from 'kysely';
import type { Database } from '../schema/database.ts';
import type { TableByDay } from './event-days.ts';

/** The first day of which events are kept; empty, and so before every day, when none was ever removed. */
export async function firstKeptDay(database: Kysely<Database>, table: TableByDay = 'usage_events'): Promise<string> {
  const query = database.selectFrom('usage_retention').select('first_day').where('table_name', '=', table);
  return (await query.executeTakeFirst())?.first_day ?? '';
}

/** Says that days before `first` are removed. It never goes back: what is removed can't be kept by a later setting. */
export async function raiseFirstKeptDay(database: Kysely<Database>, table: TableByDay, first: string): Promise<void> {
  await database
    .insertInto('usage_retention')
    .values({ table_name: table, first_day: first })
    .onConflict((conflict) =>
      conflict.column('table_name').doUpdateSet({ first_day: first }).where('usage_retention.first_day', '<', first),
    )
    .execute();
}
