import type { Generated } from 'kysely';

/* The tables of the ledger and of the request log. */

export type StoredOutcome = 'completed' | 'aborted' | 'failed' | 'lost' | 'given_up';

/**
 * The ledger. One row for each request that was sent to a provider, and one for each attempt that
 * was given up after output; written once and never changed. Its key is day and id. The day of a
 * request never changes, so that it has one row. Rows are removed by whole days: see `EventDays`.
 */
export interface UsageEventsTable {
  readonly request_id: string;
  readonly token_id: string;
  readonly admitted_at_ms: number;
  /** The local day (Europe/Amsterdam) of admission, "2026-11-20". */
  readonly local_day: string;
  readonly endpoint: string;
  /** The provider that was called last. Empty, like the model, when it is unknown. */
  readonly provider: string;
  readonly model: string;
  /** Cached tokens included. */
  readonly input_tokens: number;
  readonly cached_tokens: number;
  /** Reasoning included. */
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
  /** 1 when the provider did not report all tokens, else 0. */
  readonly estimated: number;
  readonly outcome: StoredOutcome;
  /** "<pool>/<name>" of the account that was called last. Empty: unknown. */
  readonly account_id: string;
  /**
   * Parts of the input that were written to the provider's cache, for its shorter lifetime and for
   * its longer one.
   */
  readonly cache_write_5m_tokens: Generated<number>;
  readonly cache_write_1h_tokens: Generated<number>;
  /** In millionths of the currency, at the price of the admission. Null: nothing had a price. */
  readonly cost_micros: Generated<number | null>;
  /**
   * The parts that were priced by themselves, as JSON of `gateway.adapter.v1.UsagePart`. Null: it
   * is one part, as the provider serves it by default.
   */
  readonly parts: Generated<string | null>;
  /** Tokens and calls of server tools in these parts that had no price. */
  readonly unpriced_tokens: Generated<number>;
  readonly unpriced_calls: Generated<number>;
  /** The group of the token at admission. Empty: none. */
  readonly group_id: Generated<string>;
}

/**
 * Sums over `usage_events` per token, local day, provider, model, account and group. They change
 * only in the transaction that adds the events. Kept forever.
 */
export interface UsageDailyTable
  extends Pick<
    UsageEventsTable,
    'token_id' | 'local_day' | 'provider' | 'model' | 'group_id' | 'input_tokens' | 'cached_tokens' | 'output_tokens'
  > {
  /** Empty if it is unknown: an older release wrote it, or no account answered. */
  readonly account_id: Generated<string>;
  /** Requests whose row names a provider, without those that are lost and attempts given up. */
  readonly requests: number;
  readonly cache_write_5m_tokens: Generated<number>;
  readonly cache_write_1h_tokens: Generated<number>;
  /** The frozen cost of the events that have one. */
  readonly cost_micros: Generated<number>;
  /** The tokens of events whose cost was decided: those with a cost, and those with parts. */
  readonly costed_input_tokens: Generated<number>;
  readonly costed_cached_tokens: Generated<number>;
  readonly costed_cache_write_5m_tokens: Generated<number>;
  readonly costed_cache_write_1h_tokens: Generated<number>;
  readonly costed_output_tokens: Generated<number>;
  /** What of these events had no price. */
  readonly unpriced_tokens: Generated<number>;
  readonly unpriced_calls: Generated<number>;
}

/**
 * The request log: one row per request, for operators, written once. Rows are removed by whole
 * days: see `EventDays`.
 */
export interface RequestLogTable {
  /** A UUIDv7: the order of ids is the order of requests. */
  readonly request_id: string;
  /** The day of the request's arrival. */
  readonly local_day: string;
  readonly token_id: string;
  readonly received_at_ms: number;
  /** The number of a `gateway.usage.v1.RequestEnding`. */
  readonly ending: number;
  /** 1 when more than one account was tried, else 0. */
  readonly moved: number;
  /** 1 when the answer started late, else 0. */
  readonly slow: number;
  /** The model by the client's name and by the providers' names, each enclosed in line feeds. */
  readonly models: string;
  /** The HTTP status. */
  readonly status: number;
  readonly endpoint: string;
  /** The accounts that were tried, each enclosed in line feeds. */
  readonly accounts: string;
  /** Empty if the client sent none. */
  readonly client_request_id: string;
  /** By the database's clock. */
  readonly logged_at_ms: number;
  /**
   * The `gateway.usage.v1.RequestRecorded`. All other fields are only in here, so a new field needs
   * no column.
   */
  readonly entry_bytes: Uint8Array;
}

/**
 * The first day whose rows are kept, for a table that would otherwise grow forever. No row: all
 * days are kept.
 */
export interface UsageRetentionTable {
  readonly table_name: string;
  /**
   * "2026-11-20". Rows of earlier days are removed or about to be, and no such row is ever added
   * again.
   */
  readonly first_day: string;
}

/** Messages that could not be parsed, kept for inspection. */
export interface DeadLettersTable {
  /** SHA-256 of the payload in hex: a message that arrives again has the same row. */
  readonly dead_letter_id: string;
  readonly received_at_ms: number;
  readonly reason: string;
  /** Base64 of the bytes as they arrived. */
  readonly payload: string;
}
