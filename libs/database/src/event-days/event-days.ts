import { yieldToEventLoop } from '@gateway/time';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Database, GatewayDatabase } from '../schema.ts';

/** Tables that are organised by day, with the key (local_day, request_id). */
export type TableByDay = 'usage_events' | 'request_log';

/** The result of removing old days. */
export interface RemovedDays {
  readonly days: number;
  /** How many events the days had; an estimate in Postgres. */
  readonly events: number;
}

export interface ReadThenChange<T> {
  /** Reads one snapshot of all tables. */
  read(snapshot: Transaction<Database>): Promise<T>;
  /**
   * Applies changes based on what `read` found. Other processes may have added events in between.
   */
  change(transaction: Transaction<Database>, found: T): Promise<void>;
}

/**
 * The local days of a table that is organised by day. The storage of a day is created before its
 * first event, and removed with all its events when the retention period ends. A removed day never
 * returns, so that none of its events can be counted again.
 */
export interface EventDays {
  /**
   * Creates storage for events of these days, except for removed days. Any number of processes may
   * do so concurrently.
   */
  open(days: readonly string[]): Promise<void>;
  /**
   * Runs a transaction that adds events of these days, after creating their storage. The
   * transaction must leave out days before `firstKeptDay`. It runs again when another process
   * removes a day in the meantime.
   */
  insertInto<T>(days: readonly string[], transaction: () => Promise<T>): Promise<T>;
  /**
   * Removes every day before `first`, permanently. Does nothing when another process is removing
   * days. Stops between two steps when the signal is aborted; the next call continues.
   */
  removeBefore(first: string, signal: AbortSignal): Promise<RemovedDays>;
  /**
   * Reads, then changes, while no day is removed and no other such work runs.
   * @throws EventDaysBusyError
   */
  withLock<T>(work: ReadThenChange<T>): Promise<T>;
}

/** Other work on the days holds the lock for too long. */
export class EventDaysBusyError extends Error {
  override readonly name = 'EventDaysBusyError';
}

/**
 * The first day whose events are kept. Empty, and so before every day, when none was ever removed.
 */
export async function firstKeptDay(database: Kysely<Database>, table: TableByDay = 'usage_events'): Promise<string> {
  const query = database.selectFrom('usage_retention').select('first_day').where('table_name', '=', table);
  return (await query.executeTakeFirst())?.first_day ?? '';
}

/**
 * Records that days before `first` are removed. The day never moves back: a later setting can't
 * restore what is removed.
 */
export async function raiseFirstKeptDay(database: Kysely<Database>, table: TableByDay, first: string): Promise<void> {
  await database
    .insertInto('usage_retention')
    .values({ table_name: table, first_day: first })
    .onConflict((conflict) =>
      conflict.column('table_name').doUpdateSet({ first_day: first }).where('usage_retention.first_day', '<', first),
    )
    .execute();
}

/** How many events are deleted at a time: SQLite runs in the thread that serves requests. */
const batchEvents = 500;

/** In SQLite the days share one table, sorted by day. */
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
      await yieldToEventLoop();
    }
    return { days: days.size, events };
  }

  /** A single transaction, which locks out all other writers. */
  async withLock<T>({ read, change }: ReadThenChange<T>): Promise<T> {
    return await this.#database.transaction().execute(async (transaction) => {
      const found = await read(transaction);
      await change(transaction, found);
      return found;
    });
  }
}
