import { type Database, firstKeptDay } from '@gateway/database';
import type { Kysely } from 'kysely';
import { type DailySum, dailySums } from '../recording/daily-sums.ts';
import type { LedgerEntry } from '../recording/ledger-entry.ts';
import type { AddedRows, EntryStatements } from './add-entries.ts';
import { addedToSums, eventColumns, onceEach, sumColumns } from './ledger-columns.ts';
import { RowInsertion } from './row-insertion.ts';

/** A batch is one transaction of a few statements, which stay prepared. */
export const sqliteEntries: EntryStatements = {
  async add(database: Kysely<Database>, entries: readonly LedgerEntry[]): Promise<AddedRows> {
    if (database.isTransaction) return await addInTransaction(database, entries);
    return await database.transaction().execute((transaction) => addInTransaction(transaction, entries));
  },

  async addSums(database: Kysely<Database>, sums: readonly DailySum[]): Promise<void> {
    await sumInsertion.run(database, sums);
  },
};

const eventInsertion = new RowInsertion<LedgerEntry, Pick<LedgerEntry, 'request_id'>>({
  table: 'usage_events',
  columns: eventColumns,
  ending: `${onceEach} returning request_id`,
});

const sumInsertion = new RowInsertion<DailySum>({ table: 'usage_daily', columns: sumColumns, ending: addedToSums });

async function addInTransaction(transaction: Kysely<Database>, entries: readonly LedgerEntry[]): Promise<AddedRows> {
  const firstKept = await firstKeptDay(transaction);
  const kept = entries.filter(({ local_day }) => local_day >= firstKept);
  const inserted = await eventInsertion.run(transaction, kept);
  await sumInsertion.run(transaction, dailySums(freshOf(kept, inserted)));
  return { fresh: inserted.length, firstKept };
}

function freshOf(
  entries: readonly LedgerEntry[],
  inserted: readonly Pick<LedgerEntry, 'request_id'>[],
): readonly LedgerEntry[] {
  if (inserted.length === entries.length) return entries;
  const ids = new Set(inserted.map(({ request_id }) => request_id));
  return entries.filter(({ request_id }) => ids.has(request_id));
}
