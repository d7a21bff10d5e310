import { type Database, firstKeptDay } from '@gateway/database';
import { CompiledQuery, type Kysely } from 'kysely';
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

const eventInsertion = new RowInsertion<LedgerEntry>({
  table: 'usage_events',
  columns: eventColumns,
  ending: onceEach,
});

const namingEventInsertion = new RowInsertion<LedgerEntry, Pick<LedgerEntry, 'request_id'>>({
  table: 'usage_events',
  columns: eventColumns,
  ending: `${onceEach} returning request_id`,
});

const sumInsertion = new RowInsertion<DailySum>({ table: 'usage_daily', columns: sumColumns, ending: addedToSums });

async function addInTransaction(transaction: Kysely<Database>, entries: readonly LedgerEntry[]): Promise<AddedRows> {
  const firstKept = await firstKeptDay(transaction);
  const kept = entries.filter(({ local_day }) => local_day >= firstKept);
  const fresh = await insertFresh(transaction, kept);
  await sumInsertion.run(transaction, dailySums(fresh));
  return { fresh: fresh.length, firstKept };
}

/**
 * Inserts entries and gives those that were not there. Nearly always all are new: then their number tells it. Having each row
 * named by the database takes as long as inserting it, and is done only where some are not new.
 */
async function insertFresh(
  transaction: Kysely<Database>,
  entries: readonly LedgerEntry[],
): Promise<readonly LedgerEntry[]> {
  await transaction.executeQuery(beforeEntries);
  const { inserted } = await eventInsertion.run(transaction, entries);
  if (inserted === entries.length) return entries;
  await transaction.executeQuery(backBeforeEntries);
  const { returned } = await namingEventInsertion.run(transaction, entries);
  const ids = new Set(returned.map(({ request_id }) => request_id));
  return entries.filter(({ request_id }) => ids.has(request_id));
}

const beforeEntries = CompiledQuery.raw('savepoint before_entries');
const backBeforeEntries = CompiledQuery.raw('rollback to before_entries');
