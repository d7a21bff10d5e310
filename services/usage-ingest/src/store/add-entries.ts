import { type Database, firstKeptDay } from '@gateway/database';
import type { Transaction } from 'kysely';
import { type DailySum, dailySums } from '../recording/daily-sums.ts';
import type { LedgerEntry } from '../recording/ledger-entry.ts';

/** What became of entries. The others were in the ledger already. */
export interface Added {
  readonly fresh: number;
  /** Of days that are no longer kept: nobody can tell whether they were counted. They are not added. */
  readonly tooOld: readonly LedgerEntry[];
}

/** Adds entries, each once, with their sums. The transaction is the caller's. */
export async function addEntries(transaction: Transaction<Database>, entries: readonly LedgerEntry[]): Promise<Added> {
  const firstKept = await firstKeptDay(transaction);
  const kept = entries.filter(({ local_day }) => local_day >= firstKept);
  // Of several with one id the first counts.
  const byRequest = new Map(kept.toReversed().map((entry) => [entry.request_id, entry]));
  const newIds = await insertEntries(transaction, byRequest);
  const fresh = newIds.flatMap((id) => byRequest.get(id) ?? []);
  await addSums(transaction, dailySums(fresh));
  return { fresh: fresh.length, tooOld: entries.filter(({ local_day }) => local_day < firstKept) };
}

/** Adds to the daily sums. Rows come in the order of their key, so that two writers can't wait for each other. */
export async function addSums(transaction: Transaction<Database>, sums: readonly DailySum[]): Promise<void> {
  for (let start = 0; start < sums.length; start += rowsOfStatement) {
    await addSomeSums(transaction, sums.slice(start, start + rowsOfStatement));
  }
}

/** So many rows have no more values than a statement may have, on either database. */
const rowsOfStatement = 2_000;

/** Inserts in the order of ids, for the same reason as sums are sorted, and gives the ids that were new. */
async function insertEntries(
  transaction: Transaction<Database>,
  byRequest: ReadonlyMap<string, LedgerEntry>,
): Promise<readonly string[]> {
  if (byRequest.size === 0) return [];
  const sorted = [...byRequest.values()].sort((a, b) => (a.request_id < b.request_id ? -1 : 1));
  const rows = await transaction
    .insertInto('usage_events')
    .values(sorted)
    .onConflict((conflict) => conflict.columns(['local_day', 'request_id']).doNothing())
    .returning('request_id')
    .execute();
  return rows.map(({ request_id }) => request_id);
}

async function addSomeSums(transaction: Transaction<Database>, sums: readonly DailySum[]): Promise<void> {
  await transaction
    .insertInto('usage_daily')
    .values([...sums])
    .onConflict((conflict) =>
      conflict.columns(['token_id', 'local_day', 'provider', 'model']).doUpdateSet(({ eb, ref }) => ({
        requests: eb('usage_daily.requests', '+', ref('excluded.requests')),
        input_tokens: eb('usage_daily.input_tokens', '+', ref('excluded.input_tokens')),
        cached_tokens: eb('usage_daily.cached_tokens', '+', ref('excluded.cached_tokens')),
        output_tokens: eb('usage_daily.output_tokens', '+', ref('excluded.output_tokens')),
      })),
    )
    .execute();
}
