import type { Kysely } from 'kysely';
import type { AccountGrantsTable } from './account-grants.ts';
import type { AccountsTable } from './accounts.ts';
import type { AuditLogTable } from './audit-log.ts';
import type { DeadLettersTable } from './dead-letters.ts';
import type { RequestLogTable } from './request-log.ts';
import type { SequencesTable } from './sequences.ts';
import type { TokensTable } from './tokens.ts';
import type { UsageDailyTable } from './usage-daily.ts';
import type { UsageEventsTable } from './usage-events.ts';
import type { UsageRetentionTable } from './usage-retention.ts';

/**
 * Every table. Only types that Postgres and SQLite share: text, and bigint for every number. A bigint arrives as a
 * number on both; one beyond the safe integers is an error, never a rounded value.
 */
export interface Database {
  readonly tokens: TokensTable;
  readonly sequences: SequencesTable;
  readonly usage_events: UsageEventsTable;
  readonly usage_daily: UsageDailyTable;
  readonly request_log: RequestLogTable;
  readonly usage_retention: UsageRetentionTable;
  readonly dead_letters: DeadLettersTable;
  readonly accounts: AccountsTable;
  readonly account_grants: AccountGrantsTable;
  readonly audit_log: AuditLogTable;
}

/** An open database. Disposing it closes its connections. */
export type GatewayDatabase = Kysely<Database>;
