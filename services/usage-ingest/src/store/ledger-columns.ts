import type { DailySum } from '../recording/daily-sums.ts';
import type { LedgerEntry } from '../recording/ledger-entry.ts';

/** Columns by name, with their types. */
export type Columns<Row> = Readonly<Record<keyof Row, 'text' | 'bigint'>>;

export const eventColumns: Columns<LedgerEntry> = {
  request_id: 'text',
  token_id: 'text',
  admitted_at_ms: 'bigint',
  local_day: 'text',
  endpoint: 'text',
  provider: 'text',
  model: 'text',
  input_tokens: 'bigint',
  cached_tokens: 'bigint',
  output_tokens: 'bigint',
  reasoning_tokens: 'bigint',
  estimated: 'bigint',
  outcome: 'text',
};

export const sumColumns: Columns<DailySum> = {
  token_id: 'text',
  local_day: 'text',
  provider: 'text',
  model: 'text',
  requests: 'bigint',
  input_tokens: 'bigint',
  cached_tokens: 'bigint',
  output_tokens: 'bigint',
};

export const onceEach = 'on conflict (local_day, request_id) do nothing';

export const addedToSums = `
  on conflict (token_id, local_day, provider, model) do update set
    requests = usage_daily.requests + excluded.requests,
    input_tokens = usage_daily.input_tokens + excluded.input_tokens,
    cached_tokens = usage_daily.cached_tokens + excluded.cached_tokens,
    output_tokens = usage_daily.output_tokens + excluded.output_tokens`;

/** "a, b, c" */
export function namesOf<Row>(columns: Columns<Row>): string {
  return Object.keys(columns).join(', ');
}
