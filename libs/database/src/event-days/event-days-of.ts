import { isPostgres } from '../dialect.ts';
import type { GatewayDatabase } from '../schema.ts';
import type { EventDays, TableByDay } from './event-days.ts';
import { SqliteEventDays } from './event-days.ts';
import { PostgresEventDays } from './postgres-event-days.ts';

/** Manages the days of a table. */
export function eventDaysOf(database: GatewayDatabase, table: TableByDay = 'usage_events'): EventDays {
  return isPostgres(database) ? new PostgresEventDays(database, table) : new SqliteEventDays(database, table);
}
