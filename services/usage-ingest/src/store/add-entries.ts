import { type Database, isPostgres } from '@gateway/database';
import type { Kysely } from 'kysely';
import type { DailySum } from '../recording/daily-sums.ts';
import type { LedgerEntry } from '../recording/ledger-entry.ts';
import { postgresEntries } from './postgres-entries.ts';
import { sqliteEntries } from './sqlite-entries.ts';

/** What became of entries. The others were in the ledger already. */
export interface Added {
  readonly fresh: number;
  /** Of days that are no longer kept: nobody can tell whether they were counted. They are not added. */
  readonly tooOld: readonly LedgerEntry[];
}

/** How one kind of database adds many rows with statements whose text is always the same. */
export interface EntryStatements {
  /** Adds entries of different requests with their sums, all or none: in the transaction at hand, else in one of its own. */
  add(database: Kysely<Database>, entries: readonly LedgerEntry[]): Promise<AddedRows>;
  /** Adds to the daily sums, which must come in the order of their key. */
  addSums(database: Kysely<Database>, sums: readonly DailySum[]): Promise<void>;
}

export interface AddedRows {
  readonly fresh: number;
  /** Entries of days before it were left out. */
  readonly firstKept: string;
}

/** Adds entries, each once, with their sums, all or none. */
export async function addEntries(database: Kysely<Database>, entries: readonly LedgerEntry[]): Promise<Added> {
  const { fresh, firstKept } = await statementsOf(database).add(database, firstOfEachRequest(entries));
  return { fresh, tooOld: entries.filter(({ local_day }) => local_day < firstKept) };
}

/** Adds to the daily sums. Rows come in the order of their key, so that two writers can't wait for each other. */
export async function addSums(database: Kysely<Database>, sums: readonly DailySum[]): Promise<void> {
  await statementsOf(database).addSums(database, sums);
}

function statementsOf(database: Kysely<Database>): EntryStatements {
  return isPostgres(database) ? postgresEntries : sqliteEntries;
}

/** Of several with one id the first counts. */
function firstOfEachRequest(entries: readonly LedgerEntry[]): readonly LedgerEntry[] {
  const byRequest = new Map<string, LedgerEntry>();
  for (const entry of entries) if (!byRequest.has(entry.request_id)) byRequest.set(entry.request_id, entry);
  return [...byRequest.values()];
}
