export type StoredOutcome = 'completed' | 'aborted' | 'failed' | 'lost';

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
  /** "/v1/chat/completions" */
  readonly endpoint: string;
  /** Empty when no provider answered. */
  readonly provider: string;
  /** Empty when no provider answered. */
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
}
