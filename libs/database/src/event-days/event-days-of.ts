import { isPostgres } from '../database-kind.ts';
import type { GatewayDatabase } from '../schema.ts';
import type { EventDays } from './event-days.ts';
import { PostgresEventDays } from './postgres-event-days.ts';
import { SqliteEventDays } from './sqlite-event-days.ts';

/** The days of a database's events. */
export function eventDaysOf(database: GatewayDatabase): EventDays {
  return isPostgres(database) ? new PostgresEventDays(database) : new SqliteEventDays(database);
}
