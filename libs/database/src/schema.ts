import type { Generated, Kysely } from 'kysely';

/**
 * Every table. Only types that Postgres and SQLite share: text, and bigint for every number. A bigint arrives as a
 * number on both; one beyond the safe integers is an error, never a rounded value.
 */
export interface Database {
  readonly tokens: TokensTable;
  readonly sequences: SequencesTable;
  readonly usage_events: UsageEventsTable;
  readonly usage_daily: UsageDailyTable;
  readonly usage_daily_by_account: UsageDailyByAccountTable;
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
}

/** An open database. Disposing it closes its connections. */
export type GatewayDatabase = Kysely<Database>;

export type StoredTokenKind = 'service' | 'personal';

/** Callers' tokens. The token's text is nowhere: only a keyed hash of its digest. */
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
  /** The number of its latest change in the sequence `token_changes`; 0 as long as nothing changed since it was issued. */
  readonly change_sequence: number;
  /** For operators alone. */
  readonly note: Generated<string>;
  /** From when on it works no more. Null: it does not expire. */
  readonly expires_at_ms: number | null;
  /** 1 for a new token, one more with each change. */
  readonly revision: Generated<number>;
  /** The text before the last rotation, which works until `previous_until_ms`. Null: only the text of `token_hash` does. */
  readonly previous_hash_key_id: string | null;
  readonly previous_token_hash: string | null;
  readonly previous_until_ms: number | null;
}

/** Counters that are advanced inside the transaction they number: the row's lock makes commits visible in the order of their numbers. */
export interface SequencesTable {
  readonly name: string;
  readonly last_value: number;
}

export type StoredOutcome = 'completed' | 'aborted' | 'failed' | 'lost' | 'given_up';

/**
 * The ledger: one row for each request that passed admission, written once and never changed. Its key is day and id; a
 * request has one day for ever, so that it has one row. Removed by whole days: see `EventDays`.
 */
export interface UsageEventsTable {
  readonly request_id: string;
  readonly token_id: string;
  readonly admitted_at_ms: number;
  /** The local day (Europe/Amsterdam) of the admission, "2026-11-20". */
  readonly local_day: string;
  readonly endpoint: string;
  /** Provider and model are empty when no provider answered. */
  readonly provider: string;
  readonly model: string;
  /** Cached tokens included. */
  readonly input_tokens: number;
  readonly cached_tokens: number;
  /** Reasoning included. */
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
  /** 1 when the provider did not report (all of) the tokens, else 0. */
  readonly estimated: number;
  readonly outcome: StoredOutcome;
  /** "<pool>/<name>" of the account that answered. Empty: none did, or it is not known. */
  readonly account_id: string;
}

/** Sums over `usage_events` per token, local day, provider and model. Changed only in the transaction that adds the events. Kept for ever. */
export interface UsageDailyTable
  extends Pick<
    UsageEventsTable,
    'token_id' | 'local_day' | 'provider' | 'model' | 'input_tokens' | 'cached_tokens' | 'output_tokens'
  > {
  /** Requests that a provider answered. */
  readonly requests: number;
}

/**
 * The part of `usage_daily` of which the account is known, per account too. What it lacks of a row there is of no known account: older
 * releases wrote it, or none answered. Changed in the same transactions. Kept for ever.
 */
export interface UsageDailyByAccountTable extends UsageDailyTable {
  /** "<pool>/<name>". Never empty. */
  readonly account_id: string;
}

/** What became of requests, for operators: one row for each, written once. Removed by whole days: see `EventDays`. */
export interface RequestLogTable {
  /** A UUIDv7: the order of ids is the order of requests. */
  readonly request_id: string;
  /** Of the request's arrival. */
  readonly local_day: string;
  readonly token_id: string;
  readonly received_at_ms: number;
  /** Number of a `gateway.usage.v1.RequestEnding`. */
  readonly ending: number;
  /** 1 when more than one account was tried, else 0. */
  readonly moved: number;
  /** 1 when the answer began late, else 0. */
  readonly slow: number;
  /** The model as the client named it and as providers know it, each between line ends. */
  readonly models: string;
  /** The `gateway.usage.v1.RequestLogged` in base64. */
  readonly entry: string;
  /** The HTTP status. Null here and below: an older release logged it, and only the entry says. */
  readonly status: number | null;
  readonly endpoint: string | null;
  /** The accounts that were tried, each between line ends. */
  readonly accounts: string | null;
  /** Empty: the client sent none. */
  readonly client_request_id: string | null;
  /** By the clock of the database. */
  readonly logged_at_ms: number | null;
}

/** From which day on the rows of a table that grows for ever are kept. No row: all are. */
export interface UsageRetentionTable {
  readonly table_name: string;
  /** "2026-11-20". Rows of earlier days are gone, or about to go, and none is ever added again. */
  readonly first_day: string;
}

/** What could not be understood, kept for a person to look at. */
export interface DeadLettersTable {
  /** SHA-256 of the payload in hex: the same letter arriving again is the same row. */
  readonly dead_letter_id: string;
  readonly received_at_ms: number;
  readonly reason: string;
  /** Base64 of the bytes as they came. */
  readonly payload: string;
}

export type StoredCredentialKind = 'bearer' | 'api_key' | 'oauth';
export type StoredAccountState = 'active' | 'draining' | 'disabled';

/** Provider accounts that operators manage. Those of gateway.yaml are not among them. */
export interface AccountsTable {
  /** "<pool>/<name>" */
  readonly account_id: string;
  readonly pool: string;
  readonly name: string;
  /** A JSON array of model ids, with "*" for any text. Null: all of the pool. */
  readonly models: string | null;
  readonly max_concurrency: number | null;
  readonly credential_kind: StoredCredentialKind;
  /** Encrypted for this account: it is of no use in another row. */
  readonly credential: string;
  readonly key_id: string;
  readonly state: StoredAccountState;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
}

/** What operators want of accounts of gateway.yaml. */
export interface AccountUsesTable {
  /** "<pool>/<name>" */
  readonly account_id: string;
  readonly use_state: StoredAccountState;
  /** What the file said then. When it says something else, this row says nothing. */
  readonly file_state: StoredAccountState;
  readonly updated_at_ms: number;
}

/** The tokens that an account has at the moment, of accounts in the database and in gateway.yaml alike. */
export interface AccountGrantsTable {
  /** "<pool>/<name>" */
  readonly account_id: string;
  /** The credential that the tokens descend from. With another one the account has a row of its own. */
  readonly origin: string;
  /** One more with each change of the tokens or of the problem. */
  readonly version: number;
  /** Encrypted for this account. Null before the first refresh. */
  readonly tokens: string | null;
  readonly key_id: string | null;
  /** Why the account can't be used until a person acts. Null: it can. */
  readonly problem: string | null;
  readonly updated_at_ms: number;
  /** The broker that refreshes now, if `locked_until_ms` is to come. Null: none. */
  readonly locked_by: string | null;
  readonly locked_until_ms: number | null;
}

/** What operators did: written before it is begun, and again when it is done. */
export interface AuditLogTable {
  readonly audit_id: string;
  readonly at_ms: number;
  readonly action: string;
  readonly subject: string;
  /** A JSON object with what it was like `before` and `after`. Never a secret. */
  readonly details: string;
  /** The operator's name. Empty: not known. */
  readonly actor: Generated<string>;
  /** Where the call came from. Empty: not known. */
  readonly address: Generated<string>;
  readonly outcome: Generated<StoredAuditOutcome>;
}

export type StoredAuditOutcome = 'started' | 'done' | 'failed' | 'refused';

export type StoredRole = 'viewer' | 'operator' | 'admin';

/** Those who may sign in to the admin service. */
export interface OperatorsTable {
  readonly operator_id: string;
  readonly name: string;
  readonly role: StoredRole;
  /** Lower-case hex of SHA-256(token): tokens are random, so that a slow hash would protect nothing. Null: signs in by OpenID Connect. */
  readonly token_hash: string | null;
  /** The subject at the provider of OpenID Connect. Null: signs in with a token. */
  readonly oidc_subject: string | null;
  readonly created_at_ms: number;
  readonly last_seen_at_ms: number | null;
  /** Null: may sign in. */
  readonly disabled_at_ms: number | null;
  /** One more with each change. */
  readonly revision: number;
}

/** Secrets that all replicas of the admin service share. */
export interface AdminKeysTable {
  readonly purpose: string;
  /** In base64url. */
  readonly secret: string;
  readonly created_at_ms: number;
}

/** Sessions of browsers. Removed when they have ended. */
export interface OperatorSessionsTable {
  /** Lower-case hex of SHA-256 of what the cookie has. */
  readonly session_hash: string;
  /** Either an operator, or the token of a caller that looks at its own usage. */
  readonly operator_id: string | null;
  readonly token_id: string | null;
  /** Of that token when the session began: it ends with the next change of the token. */
  readonly token_revision: number | null;
  readonly csrf_token: string;
  readonly created_at_ms: number;
  readonly used_at_ms: number;
  readonly expires_at_ms: number;
}
