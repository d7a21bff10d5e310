import type { Generated, Kysely } from 'kysely';
import type { DeviceGrantsTable, PeopleTable, PersonGrantsTable, PersonSessionsTable } from './people-schema.ts';
import type {
  DeadLettersTable,
  RequestLogTable,
  UsageDailyTable,
  UsageEventsTable,
  UsageRetentionTable,
} from './usage-schema.ts';

export type * from './people-schema.ts';
export type * from './usage-schema.ts';

/**
 * All tables. They use only types that Postgres and SQLite share: text, and bigint for every
 * number. Both return a bigint as a number; a value beyond the safe integers is an error, never
 * rounded.
 */
export interface Database {
  readonly tokens: TokensTable;
  readonly token_groups: TokenGroupsTable;
  readonly people: PeopleTable;
  readonly device_grants: DeviceGrantsTable;
  readonly person_sessions: PersonSessionsTable;
  readonly sequences: SequencesTable;
  readonly usage_events: UsageEventsTable;
  readonly usage_daily: UsageDailyTable;
  readonly request_log: RequestLogTable;
  readonly usage_retention: UsageRetentionTable;
  readonly dead_letters: DeadLettersTable;
  readonly accounts: AccountsTable;
  readonly account_uses: AccountUsesTable;
  readonly account_grants: AccountGrantsTable;
  readonly audit_log: AuditLogTable;
  readonly operators: OperatorsTable;
  readonly operator_sessions: OperatorSessionsTable;
  readonly admin_keys: AdminKeysTable;
  readonly person_grants: PersonGrantsTable;
  readonly alerts: AlertsTable;
}

/** An open database. Disposing it closes its connections. */
export type GatewayDatabase = Kysely<Database>;

export type StoredTokenKind = 'service' | 'personal';

/** Callers' tokens. The token's text is not stored: only a keyed hash of its digest. */
export interface TokensTable {
  readonly token_id: string;
  readonly kind: StoredTokenKind;
  readonly label: string;
  /** Limits: null for none. */
  readonly requests_per_minute: number | null;
  readonly tokens_per_day: number | null;
  readonly hash_key_id: string;
  /** Lower-case hex of HMAC-SHA-256(key, SHA-256(text)). */
  readonly token_hash: string;
  readonly created_at_ms: number;
  /** Null while the token is valid. */
  readonly revoked_at_ms: number | null;
  /**
   * The number of its latest change in the sequence `token_changes`; 0 if nothing has changed since
   * it was issued.
   */
  readonly change_sequence: number;
  /** For operators only. */
  readonly note: Generated<string>;
  /** When the token expires. Null: never. */
  readonly expires_at_ms: number | null;
  /** 1 for a new token; each change adds one. */
  readonly revision: Generated<number>;
  /**
   * The hash of the text before the last rotation, which is accepted until `previous_until_ms`.
   * Null: only the text of `token_hash` is accepted.
   */
  readonly previous_hash_key_id: string | null;
  readonly previous_token_hash: string | null;
  readonly previous_until_ms: number | null;
  /** The group that the token belongs to. Null: none. */
  readonly group_id: Generated<string | null>;
  /** As in `token_groups`. */
  readonly concurrent_requests: Generated<number | null>;
  readonly strict_tokens: Generated<1 | null>;
  readonly allowed_models: Generated<string | null>;
  readonly account_labels: Generated<string | null>;
  /** The person whose token it is. Null: an operator issued it. */
  readonly person_id: Generated<string | null>;
  /**
   * When a token expires that its person has issued, while the person can be looked up at the
   * provider. `expires_at_ms` is never later. Null: another token, or an operator has chosen the
   * expiry.
   */
  readonly wanted_expiry_ms: Generated<number | null>;
}

export type StoredBudgetPeriod = 'day' | 'week' | 'month';

/** Groups of tokens, with the limits that they share. */
export interface TokenGroupsTable {
  readonly group_id: string;
  /** Unique. */
  readonly name: string;
  /** For operators only. */
  readonly note: string;
  /** Limits: null for none. */
  readonly requests_per_minute: number | null;
  readonly tokens_per_day: number | null;
  readonly concurrent_requests: number | null;
  /** 1: requests reserve tokens per day before they run. */
  readonly strict_tokens: Generated<1 | null>;
  /** In millionths of the currency. Null, like the period: no budget. */
  readonly budget_micros: number | null;
  readonly budget_period: StoredBudgetPeriod | null;
  /** With a budget: a model without a price has that of the dearest of its pool. Null: refused. */
  readonly unpriced_models: Generated<'dearest' | null>;
  /** A JSON array of models and classes, where "*" matches any text. Null: all. */
  readonly allowed_models: string | null;
  /** A JSON array of labels of accounts. Null: all accounts. */
  readonly account_labels: string | null;
  readonly created_at_ms: number;
  /** 1 for a new group; each change adds one. */
  readonly revision: number;
  /**
   * Null: it exists. Otherwise only its people are still in it, whose tokens keep its limits and
   * rules.
   */
  readonly deleted_at_ms: Generated<number | null>;
}

/**
 * Counters that are incremented inside the transaction that they number. The row's lock makes
 * commits visible in the order of their numbers.
 */
export interface SequencesTable {
  readonly name: string;
  readonly last_value: number;
}

export type StoredCredentialKind = 'bearer' | 'api_key' | 'oauth';
export type StoredAccountState = 'active' | 'draining' | 'disabled';

/** Provider accounts that operators manage, without those of gateway.yaml. */
export interface AccountsTable {
  /** "<pool>/<name>" */
  readonly account_id: string;
  readonly pool: string;
  readonly name: string;
  /** A JSON array of model ids, where "*" matches any text. Null: all models of the pool. */
  readonly models: string | null;
  readonly max_concurrency: number | null;
  readonly credential_kind: StoredCredentialKind;
  /** Encrypted for this account: it can't be used in another row. */
  readonly credential: string;
  readonly key_id: string;
  readonly state: StoredAccountState;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
  /** A JSON array. Null: none. */
  readonly labels: Generated<string | null>;
}

/** The state that operators want for accounts of gateway.yaml. */
export interface AccountUsesTable {
  /** "<pool>/<name>" */
  readonly account_id: string;
  readonly use_state: StoredAccountState;
  /**
   * The state in the file when the row was written. If the file's state has changed since, this row
   * has no effect.
   */
  readonly file_state: StoredAccountState;
  readonly updated_at_ms: number;
}

/** The current tokens of an account, whether it is stored in the database or in gateway.yaml. */
export interface AccountGrantsTable {
  /** "<pool>/<name>" */
  readonly account_id: string;
  /**
   * The credential from which the tokens were obtained. Another credential of the account has a row
   * of its own.
   */
  readonly origin: string;
  /** Each change of the tokens or of the problem adds one. */
  readonly version: number;
  /** Encrypted for this account. Null before the first refresh. */
  readonly tokens: string | null;
  readonly key_id: string | null;
  /** Why the account is unusable until a person acts. Null: it is usable. */
  readonly problem: string | null;
  readonly updated_at_ms: number;
  /**
   * The broker that is refreshing the tokens, while `locked_until_ms` lies in the future. Null:
   * none.
   */
  readonly locked_by: string | null;
  readonly locked_until_ms: number | null;
}

/** Operators' actions. An action is recorded before it starts and again when it is done. */
export interface AuditLogTable {
  readonly audit_id: string;
  readonly at_ms: number;
  readonly action: string;
  readonly subject: string;
  /** A JSON object with the state `before` and `after`. Never contains a secret. */
  readonly details: string;
  /** The operator's name. Empty: unknown. */
  readonly actor: Generated<string>;
  /** The address of the caller. Empty: unknown. */
  readonly address: Generated<string>;
  readonly outcome: Generated<StoredAuditOutcome>;
}

export type StoredAuditOutcome = 'started' | 'done' | 'failed' | 'refused';

export type StoredRole = 'viewer' | 'operator' | 'admin';

/** Operators who may sign in to the admin service. */
export interface OperatorsTable {
  readonly operator_id: string;
  readonly name: string;
  readonly role: StoredRole;
  /**
   * Lower-case hex of SHA-256(token). Tokens are random, so a slow hash would add no protection.
   * Null: the operator signs in by OpenID Connect.
   */
  readonly token_hash: string | null;
  /** The subject at the OpenID Connect provider. Null: the operator signs in with a token. */
  readonly oidc_subject: string | null;
  readonly created_at_ms: number;
  readonly last_seen_at_ms: number | null;
  /** Null: the operator may sign in. */
  readonly disabled_at_ms: number | null;
  /** Each change adds one. */
  readonly revision: number;
}

export type StoredAlertState = 'waiting' | 'sent' | 'failed';

/** Warnings, one row for each message to a receiver. Receiver, cause and period are unique. */
export interface AlertsTable {
  readonly alert_id: string;
  /** The name of a receiver in gateway.yaml. */
  readonly receiver: string;
  /** "budget:<group>:80" */
  readonly cause: string;
  /** "2026-11-27", "month 2026-11-01" */
  readonly period: string;
  readonly kind: string;
  readonly subject: string;
  readonly text: string;
  /** The path of a page of the console. */
  readonly link: string;
  /** A JSON object with the numbers in the text. */
  readonly details: string;
  readonly state: StoredAlertState;
  /** Attempts that began. */
  readonly attempts: number;
  /** What was answered last. Empty: nothing yet. */
  readonly answer: string;
  readonly created_at_ms: number;
  /** When the next attempt is due, and when the claim of a running one ends. */
  readonly due_at_ms: number;
  /** Null while it waits. */
  readonly ended_at_ms: number | null;
}

/** Secrets that all replicas of the admin service share. */
export interface AdminKeysTable {
  readonly purpose: string;
  /** Encoded in base64url. */
  readonly secret: string;
  readonly created_at_ms: number;
}

/** Sessions of browsers. A session is removed when it has ended. */
export interface OperatorSessionsTable {
  /** Lower-case hex of SHA-256 of the cookie's value. */
  readonly session_hash: string;
  /**
   * A session belongs to an operator, to the token of a caller who views its own usage, or to a
   * person without a role.
   */
  readonly operator_id: string | null;
  readonly token_id: string | null;
  /** The token's revision at the start of the session: the session ends when the token changes. */
  readonly token_revision: number | null;
  readonly person_id: string | null;
  readonly csrf_token: string;
  readonly created_at_ms: number;
  readonly used_at_ms: number;
  readonly expires_at_ms: number;
}
