import { CompiledQuery, type Kysely } from 'kysely';
import type { Database } from '../schema/database.ts';
import type { UsageRetentionTable } from '../schema/usage-retention.ts';

const table = 'usage_events';

/** No row when no day was ever removed. For statements that need the day themselves. */
export const firstKeptDayQuery = `select first_day from usage_retention where table_name = '${table}'`;

/** The first day of which events are kept; empty, and so before every day, when none was ever removed. */
export async function firstKeptDay(database: Kysely<Database>): Promise<string> {
  const { rows } = await database.executeQuery(compiledQuery);
  return rows[0]?.first_day ?? '';
}

/** Compiled once: it is asked with every batch of events. */
const compiledQuery: CompiledQuery<Pick<UsageRetentionTable, 'first_day'>> = CompiledQuery.raw(firstKeptDayQuery);

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
