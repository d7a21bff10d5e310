import type { GatewayDatabase, UsageEventsTable } from '@gateway/database';
import { addLocalDays, localDayOf } from '@gateway/time';

/** What the ledger has of a request. */
export type LedgerRequest = UsageEventsTable;

/** Finds single requests in the ledger, in SQLite or Postgres. */
export class RequestFinder {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  /** @param receivedAtMs when the request was given its id: it is kept with that day, or one beside it. */
  async find(requestId: string, receivedAtMs: number): Promise<LedgerRequest | undefined> {
    const day = localDayOf(receivedAtMs);
    return await this.#database
      .selectFrom('usage_events')
      .selectAll()
      .where('local_day', 'in', [addLocalDays(day, -1), day, addLocalDays(day, 1)])
      .where('request_id', '=', requestId)
      .executeTakeFirst();
  }
}
