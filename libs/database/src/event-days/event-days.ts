import type { Transaction } from 'kysely';
import { isPostgres } from '../database-kind.ts';
import type { Database, GatewayDatabase } from '../schema/database.ts';
import { PostgresEventDays } from './postgres-event-days.ts';
import { SqliteEventDays } from './sqlite-event-days.ts';

/** What a removal of old days took away. */
export interface RemovedDays {
  readonly days: number;
  /** How many events they held; an estimate where nobody counts them. */
  readonly events: number;
}

/** Something that a snapshot tells, and what is to be done about it. */
export interface ReadThenChange<T> {
  /** Reads in one snapshot of all tables. */
  read(snapshot: Transaction<Database>): Promise<T>;
  /** Changes by what was read. Others may have added events in between. */
  change(transaction: Transaction<Database>, found: T): Promise<void>;
}

/**
 * The local days of a table that is kept by day: each one's room is made before its first event, and removed with all of its events
 * when nobody needs them. A day that was removed never comes back, so that no event of it can be counted anew.
 */
export interface EventDays {
  /** Makes room for events of these days, except for days that were removed. Any number of processes may do so at once. */
  open(days: readonly string[]): Promise<void>;
  /**
   * Runs a transaction that adds events of these days, with room for them. It must leave out days before
   * `firstKeptDay`, and it runs again when another process has removed a day meanwhile.
   */
  adding<T>(days: readonly string[], transaction: () => Promise<T>): Promise<T>;
  /**
   * Removes every day before `first`, for good. Does nothing when another process is at it. Stops between two steps
   * when the signal is aborted; the next call goes on.
   */
  removeBefore(first: string, signal: AbortSignal): Promise<RemovedDays>;
  /**
   * Reads, then changes, while no day is removed and no other work of this kind runs.
   *
   * @throws EventDaysBusyError when other work of this kind goes on for too long.
   */
  undisturbed<T>(work: ReadThenChange<T>): Promise<T>;
}

/** Tables whose rows are kept by day, under the key (local_day, request_id). */
export type TableByDay = 'usage_events' | 'request_log';

/** The days of a table's rows. */
export function eventDaysOf(database: GatewayDatabase, table: TableByDay = 'usage_events'): EventDays {
  return isPostgres(database) ? new PostgresEventDays(database, table) : new SqliteEventDays(database, table);
}
