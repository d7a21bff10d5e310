import { setImmediate as otherWork } from 'node:timers/promises';
import type { GatewayDatabase } from '../schema.ts';
import type { EventDays, ReadThenChange, RemovedDays, TableByDay } from './event-days.ts';
import { raiseFirstKeptDay } from './event-days.ts';

/** Deleted at a time: SQLite runs in the thread that serves requests. */
const batchEvents = 500;

/** In SQLite the days share one table, in the order of days. */
export class SqliteEventDays implements EventDays {
  readonly #database: GatewayDatabase;
  readonly #table: TableByDay;

  constructor(database: GatewayDatabase, table: TableByDay = 'usage_events') {
    this.#database = database;
    this.#table = table;
  }

  async open(): Promise<void> {}

  async insertInto<T>(_days: readonly string[], transaction: () => Promise<T>): Promise<T> {
    return await transaction();
  }

  async removeBefore(first: string, signal: AbortSignal): Promise<RemovedDays> {
    await raiseFirstKeptDay(this.#database, this.#table, first);
    let removed: RemovedDays = { days: 0, events: 0 };
    while (!signal.aborted) {
      const days = this.#database.selectFrom(this.#table).select('local_day').where('local_day', '<', first);
      const oldest = await days.orderBy('local_day').limit(1).executeTakeFirst();
      if (oldest === undefined) return removed;
      const events = await this.#removeDay(oldest.local_day, signal);
      removed = { days: removed.days + 1, events: removed.events + events };
    }
    return removed;
  }

  /** One transaction, which keeps all other writers out. */
  async withLock<T>({ read, change }: ReadThenChange<T>): Promise<T> {
    return await this.#database.transaction().execute(async (transaction) => {
      const found = await read(transaction);
      await change(transaction, found);
      return found;
    });
  }

  async #removeDay(day: string, signal: AbortSignal): Promise<number> {
    let events = 0;
    while (!signal.aborted) {
      const { numDeletedRows } = await this.#database
        .deleteFrom(this.#table)
        .where('local_day', '=', day)
        .where('request_id', 'in', (query) =>
          query.selectFrom(this.#table).select('request_id').where('local_day', '=', day).limit(batchEvents),
        )
        .executeTakeFirstOrThrow();
      events += Number(numDeletedRows);
      if (numDeletedRows < batchEvents) return events;
      await otherWork();
    }
    return events;
  }
}
