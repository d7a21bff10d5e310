import { type Database, type DeadLettersTable, type GatewayDatabase, retryingConflicts } from '@gateway/database';
import type { Transaction } from 'kysely';
import { type DailySum, dailySums } from '../recording/daily-sums.ts';
import type { LedgerEntry } from '../recording/ledger-entry.ts';

export type DeadLetter = DeadLettersTable;

/** The ledger and its daily sums, in SQLite or Postgres. They always agree: both change in one transaction. */
export class UsageLedger {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  /** Stores entries, each once, and gives how many were new. Adding them again changes nothing. */
  async add(entries: readonly LedgerEntry[]): Promise<number> {
    if (entries.length === 0) return 0;
    // Of several with one id the first counts.
    const byRequest = new Map(entries.toReversed().map((entry) => [entry.request_id, entry]));
    return await retryingConflicts(() =>
      this.#database.transaction().execute(async (transaction) => {
        const newIds = await insertEntries(transaction, byRequest);
        const fresh = newIds.flatMap((id) => byRequest.get(id) ?? []);
        await addSums(transaction, dailySums(fresh));
        return fresh.length;
      }),
    );
  }

  /** Keeps what can't be understood; a letter that is there already stays as it is. */
  async addDeadLetters(letters: readonly DeadLetter[]): Promise<void> {
    if (letters.length === 0) return;
    await this.#database
      .insertInto('dead_letters')
      .values([...letters])
      .onConflict((conflict) => conflict.column('dead_letter_id').doNothing())
      .execute();
  }
}

/** Inserts in the order of ids, for the same reason as sums are sorted, and gives the ids that were new. */
async function insertEntries(
  transaction: Transaction<Database>,
  byRequest: ReadonlyMap<string, LedgerEntry>,
): Promise<readonly string[]> {
  const sorted = [...byRequest.values()].sort((a, b) => (a.request_id < b.request_id ? -1 : 1));
  const rows = await transaction
    .insertInto('usage_events')
    .values(sorted)
    .onConflict((conflict) => conflict.column('request_id').doNothing())
    .returning('request_id')
    .execute();
  return rows.map(({ request_id }) => request_id);
}

async function addSums(transaction: Transaction<Database>, sums: readonly DailySum[]): Promise<void> {
  if (sums.length === 0) return;
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
