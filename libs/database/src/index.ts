export { createDatabaseProbe } from './database-probe.ts';
export { isPostgres, isRefusedData, withSerializationRetry } from './dialect.ts';
export {
  type EventDays,
  EventDaysBusyError,
  firstKeptDay,
  type ReadThenChange,
  type RemovedDays,
  type TableByDay,
} from './event-days/event-days.ts';
export { eventDaysOf } from './event-days/event-days-of.ts';
export { migrate, pendingMigrations } from './migrate.ts';
export type {
  AccountGrantsTable,
  AccountsTable,
  AuditLogTable,
  Database,
  DeadLettersTable,
  GatewayDatabase,
  RequestLogTable,
  StoredAccountState,
  StoredCredentialKind,
  StoredOutcome,
  StoredTokenKind,
  TokensTable,
  UsageDailyTable,
  UsageEventsTable,
  UsageRetentionTable,
} from './schema.ts';
