export { isPostgres } from './database-kind.ts';
export { createDatabaseProbe } from './database-probe.ts';
export { isRefusedData, retryingConflicts } from './errors.ts';
export {
  type EventDays,
  eventDaysOf,
  type ReadThenChange,
  type RemovedDays,
  type TableByDay,
} from './event-days/event-days.ts';
export { EventDaysBusyError } from './event-days/event-days-busy-error.ts';
export { firstKeptDay } from './event-days/first-kept-day.ts';
export { migrate, pendingMigrations } from './migrate.ts';
export type { AccountGrantsTable } from './schema/account-grants.ts';
export type { AccountsTable, StoredAccountState, StoredCredentialKind } from './schema/accounts.ts';
export type { AuditLogTable } from './schema/audit-log.ts';
export type { Database, GatewayDatabase } from './schema/database.ts';
export type { DeadLettersTable } from './schema/dead-letters.ts';
export type { StoredTokenKind, TokensTable } from './schema/tokens.ts';
export type { UsageDailyTable } from './schema/usage-daily.ts';
export type { StoredOutcome, UsageEventsTable } from './schema/usage-events.ts';
export type { UsageRetentionTable } from './schema/usage-retention.ts';
