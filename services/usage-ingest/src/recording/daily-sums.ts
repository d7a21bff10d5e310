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
    const sum = added(sums.get(key) ?? emptySum(entry), entry, countsAsRequest(entry) ? 1 : 0);
    if (!isEmpty(sum)) sums.set(key, sum);
  }
  return inOrder(sums);
}

/** Several sums of one key become one. In the order of the key. */
export function sumOfSums(sums: readonly DailySum[]): readonly DailySum[] {
  const totals = new Map<string, DailySum>();
  for (const sum of sums) {
    const key = keyOf(sum);
    const known = totals.get(key);
    totals.set(key, known === undefined ? sum : added(known, sum, sum.requests));
  }
  return inOrder(totals);
}

/** NUL can't be in a text of the ledger, so that no two keys look alike. */
export function keyOf({ token_id, local_day, provider, model }: SumKey): string {
  return [token_id, local_day, provider, model].join('\0');
}

type SumKey = Pick<DailySum, 'token_id' | 'local_day' | 'provider' | 'model'>;
type Tokens = Pick<DailySum, 'input_tokens' | 'cached_tokens' | 'output_tokens'>;

function inOrder(sums: ReadonlyMap<string, DailySum>): readonly DailySum[] {
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}

/** A request is counted when a provider answered it, however it ended. */
function countsAsRequest({ provider, outcome }: LedgerEntry): boolean {
  return provider !== '' && outcome !== 'lost';
}

function emptySum({ token_id, local_day, provider, model }: SumKey): DailySum {
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

function added(sum: DailySum, tokens: Tokens, requests: number): DailySum {
  return {
    ...sum,
    requests: sum.requests + requests,
    input_tokens: sum.input_tokens + tokens.input_tokens,
    cached_tokens: sum.cached_tokens + tokens.cached_tokens,
    output_tokens: sum.output_tokens + tokens.output_tokens,
  };
}

function isEmpty({ requests, input_tokens, cached_tokens, output_tokens }: DailySum): boolean {
  return requests + input_tokens + cached_tokens + output_tokens === 0;
}
