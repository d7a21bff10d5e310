export { createDatabaseProbe } from './database-probe.ts';
export { isPostgres, isRefusedData, withSerializationRetry } from './dialect.ts';
export { type EventDays, EventDaysBusyError, firstKeptDay, type TableByDay } from './event-days/event-days.ts';
export { eventDaysOf } from './event-days/event-days-of.ts';
export { migrate, pendingMigrations } from './migrate.ts';
export type * from './schema.ts';
export {
  keyColumns,
  plusSums,
  type SummedColumn,
  summedColumns,
  totalsOf,
  type UsageSums,
} from './usage-totals.ts';
