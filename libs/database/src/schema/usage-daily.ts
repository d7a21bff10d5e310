/** Sums over `usage_events` per token, local day, provider and model. Changed only in the transaction that adds the events. Kept for ever. */
export interface UsageDailyTable {
  readonly token_id: string;
  /** "2026-11-20", in Europe/Amsterdam. */
  readonly local_day: string;
  readonly provider: string;
  readonly model: string;
  /** Requests that a provider answered. */
  readonly requests: number;
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
}
