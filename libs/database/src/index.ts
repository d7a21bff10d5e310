export { createDatabaseProbe } from './database-probe.ts';
export { isRefusedData, retryingConflicts } from './errors.ts';
export { migrate, pendingMigrations } from './migrate.ts';
export type { AuditLogTable } from './schema/audit-log.ts';
export type { Database, GatewayDatabase } from './schema/database.ts';
export type { DeadLettersTable } from './schema/dead-letters.ts';
export type { StoredTokenKind, TokensTable } from './schema/tokens.ts';
export type { UsageDailyTable } from './schema/usage-daily.ts';
export type { StoredOutcome, UsageEventsTable } from './schema/usage-events.ts';
