import { setImmediate as otherWork } from 'node:timers/promises';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Database, GatewayDatabase } from '../schema.ts';

/** Tables whose rows are kept by day, under the key (local_day, request_id). */
export type TableByDay = 'usage_events' | 'request_log';

/** What a removal of old days took away. */
export interface RemovedDays {
  readonly days: number;
  /** How many events they had; in Postgres an estimate. */
  readonly events: number;
}

export interface ReadThenChange<T> {
  /** Reads in one snapshot of all tables. */
  read(snapshot: Transaction<Database>): Promise<T>;
  /** Changes by what was read. Others may have added events in between. */
  change(transaction: Transaction<Database>, found: T): Promise<void>;
}

/**
 * The local days of a table that is kept by day: each one's room is made before its first event, and removed with all of its events
 * when they are no longer kept. A day that was removed never comes back, so that no event of it can be counted anew.
 */
export interface EventDays {
  /** Makes room for events of these days, except for days that were removed. Any number of processes may do so at once. */
  open(days: readonly string[]): Promise<void>;
  /**
   * Runs a transaction that adds events of these days, with room for them. It must leave out days before
   * `firstKeptDay`, and it runs again when another process has removed a day meanwhile.
   */
  insertInto<T>(days: readonly string[], transaction: () => Promise<T>): Promise<T>;
  /**
   * Removes every day before `first`, for good. Does nothing when another process is at it. Stops between two steps
   * when the signal is aborted; the next call goes on.
   */
  removeBefore(first: string, signal: AbortSignal): Promise<RemovedDays>;
  /** Reads, then changes, while no day is removed and no other work of this kind runs. @throws EventDaysBusyError */
  withLock<T>(work: ReadThenChange<T>): Promise<T>;
}

/** Other work on the days goes on for too long. */
export class EventDaysBusyError extends Error {
  override readonly name = 'EventDaysBusyError';
}

/** The first day of which events are kept; empty, and so before every day, when none was ever removed. */
export async function firstKeptDay(database: Kysely<Database>, table: TableByDay = 'usage_events'): Promise<string> {
  const query = database.selectFrom('usage_retention').select('first_day').where('table_name', '=', table);
  return (await query.executeTakeFirst())?.first_day ?? '';
}

/** Says that days before `first` are removed. It never goes back: what is removed can't be kept by a later setting. */
export async function raiseFirstKeptDay(database: Kysely<Database>, table: TableByDay, first: string): Promise<void> {
  await database
    .insertInto('usage_retention')
    .values({ table_name: table, first_day: first })
    .onConflict((conflict) =>
      conflict.column('table_name').doUpdateSet({ first_day: first }).where('usage_retention.first_day', '<', first),
    )
    .execute();
}

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
    const table = sql.table(this.#table);
    const days = new Set<string>();
    let events = 0;
    while (!signal.aborted) {
      const { rows } = await sql<{ readonly local_day: string }>`
        delete from ${table} where (local_day, request_id) in
          (select local_day, request_id from ${table} where local_day < ${first} order by local_day limit ${batchEvents})
        returning local_day`.execute(this.#database);
      for (const { local_day } of rows) days.add(local_day);
      events += rows.length;
      if (rows.length < batchEvents) break;
      await otherWork();
    }
    return { days: days.size, events };
  }

  /** One transaction, which keeps all other writers out. */
  async withLock<T>({ read, change }: ReadThenChange<T>): Promise<T> {
    return await this.#database.transaction().execute(async (transaction) => {
      const found = await read(transaction);
      await change(transaction, found);
      return found;
    });
  }
}
