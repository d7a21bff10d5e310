import { type DeadLettersTable, type EventDays, type GatewayDatabase, withSerializationRetry } from '@gateway/database';
import type { LedgerEntry } from '../recording/ledger-entry.ts';
import { type Added, addEntries } from './add-entries.ts';

export type DeadLetter = DeadLettersTable;

export interface LedgerParts {
  readonly database: GatewayDatabase;
  /** The days of the same database. */
  readonly days: EventDays;
}

/** The ledger and its daily sums, in SQLite or Postgres. They always agree: both change in one transaction. */
export class UsageLedger {
  readonly #database: GatewayDatabase;
  readonly #days: EventDays;

  constructor({ database, days }: LedgerParts) {
    this.#database = database;
    this.#days = days;
  }

  /** Stores entries, each once. Adding them again changes nothing. */
  async add(entries: readonly LedgerEntry[]): Promise<Added> {
    if (entries.length === 0) return { fresh: 0, tooOld: [] };
    return await this.#days.insertInto(
      entries.map(({ local_day }) => local_day),
      () => withSerializationRetry(() => addEntries(this.#database, entries)),
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
