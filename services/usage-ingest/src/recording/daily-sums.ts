import type { UsageDailyTable } from '@gateway/database';
import type { LedgerEntry } from './ledger-entry.ts';

/** What entries add to one row of the daily sums. */
export type DailySum = UsageDailyTable;

/**
 * What entries add to the daily sums: one row for each token, local day, provider and model, in the order of that key.
 * Every writer locks rows in this order, so that two of them can't wait for each other.
 */
export function dailySums(entries: readonly LedgerEntry[]): readonly DailySum[] {
  const sums = new Map<string, DailySum>();
  for (const entry of entries) {
    const key = keyOf(entry);
    const sum = added(sums.get(key) ?? emptySum(entry), entry);
    if (!isEmpty(sum)) sums.set(key, sum);
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}

/** A request is counted when a provider answered it, however it ended. */
function countsAsRequest({ provider, outcome }: LedgerEntry): boolean {
  return provider !== '' && outcome !== 'lost';
}

/** NUL can't be in a text of the ledger, so that no two keys look alike. */
function keyOf({ token_id, local_day, provider, model }: LedgerEntry): string {
  return [token_id, local_day, provider, model].join('\0');
}

function emptySum({ token_id, local_day, provider, model }: LedgerEntry): DailySum {
  return {
    token_id,
    local_day,
    provider,
    model,
    requests: 0,
    input_tokens: 0,
    cached_tokens: 0,
    output_tokens: 0,
  };
}

function added(sum: DailySum, entry: LedgerEntry): DailySum {
  return {
    ...sum,
    requests: sum.requests + (countsAsRequest(entry) ? 1 : 0),
    input_tokens: sum.input_tokens + entry.input_tokens,
    cached_tokens: sum.cached_tokens + entry.cached_tokens,
    output_tokens: sum.output_tokens + entry.output_tokens,
  };
}

function isEmpty({ requests, input_tokens, cached_tokens, output_tokens }: DailySum): boolean {
  return requests + input_tokens + cached_tokens + output_tokens === 0;
}
