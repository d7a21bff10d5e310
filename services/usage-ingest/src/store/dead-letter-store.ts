import { type EventDays, firstKeptDay, type GatewayDatabase, retryingConflicts } from '@gateway/database';
import type { LedgerEntry } from '../recording/ledger-entry.ts';
import { type Added, addEntries, type DeadLetter, type LedgerParts } from './usage-ledger.ts';

/** Dead letters, and their way back into the ledger. */
export class DeadLetterStore {
  readonly #database: GatewayDatabase;
  readonly #days: EventDays;

  constructor({ database, days }: LedgerParts) {
    this.#database = database;
    this.#days = days;
  }

  /** Letters in the order of their ids, after one. */
  async after(deadLetterId: string, limit: number): Promise<readonly DeadLetter[]> {
    return await this.#database
      .selectFrom('dead_letters')
      .selectAll()
      .where('dead_letter_id', '>', deadLetterId)
      .orderBy('dead_letter_id')
      .limit(limit)
      .execute();
  }

  /**
   * Records what a letter says and deletes it, both or none. Undefined when the letter is gone already. A letter with an
   * entry of a day that is no longer kept stays, and nothing of it is recorded.
   */
  async replay(deadLetterId: string, entries: readonly LedgerEntry[]): Promise<Added | undefined> {
    const days = entries.map(({ local_day }) => local_day);
    try {
      return await this.#days.adding(days, () => retryingConflicts(() => this.#replayOnce(deadLetterId, entries)));
    } catch (thrown) {
      if (thrown instanceof TooOld) return { fresh: 0, tooOld: thrown.entries };
      throw thrown;
    }
  }

  /** What `replay` would do now. */
  async rehearse(entries: readonly LedgerEntry[]): Promise<Added> {
    const firstKept = await firstKeptDay(this.#database);
    const tooOld = entries.filter(({ local_day }) => local_day < firstKept);
    if (tooOld.length > 0) return { fresh: 0, tooOld };
    const present = await this.#database
      .selectFrom('usage_events')
      .select('request_id')
      .where(
        'local_day',
        'in',
        entries.map(({ local_day }) => local_day),
      )
      .where(
        'request_id',
        'in',
        entries.map(({ request_id }) => request_id),
      )
      .execute();
    const ids = new Set(entries.map(({ request_id }) => request_id));
    for (const { request_id } of present) ids.delete(request_id);
    return { fresh: ids.size, tooOld };
  }

  /** The letter goes first: another replay of it waits, and then finds it gone. */
  #replayOnce(deadLetterId: string, entries: readonly LedgerEntry[]): Promise<Added | undefined> {
    return this.#database.transaction().execute(async (transaction) => {
      const { numDeletedRows } = await transaction
        .deleteFrom('dead_letters')
        .where('dead_letter_id', '=', deadLetterId)
        .executeTakeFirstOrThrow();
      if (numDeletedRows === 0n) return undefined;
      const added = await addEntries(transaction, entries);
      if (added.tooOld.length > 0) throw new TooOld(added.tooOld);
      return added;
    });
  }
}

/** Ends a transaction of which nothing may stay. */
class TooOld extends Error {
  override readonly name = 'TooOld';
  readonly entries: readonly LedgerEntry[];

  constructor(entries: readonly LedgerEntry[]) {
    super('days that are no longer kept');
    this.entries = entries;
  }
}
