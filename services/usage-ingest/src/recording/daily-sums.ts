import type { UsageDailyTable } from '@gateway/database';
import type { LedgerEntry } from './ledger-entry.ts';

/** What entries add to one row of the daily sums. */
export type DailySum = UsageDailyTable;

/**
 * What entries add to the daily sums: one row for each token, local day, provider and model, in the order of that key.
 * Every writer locks rows in this order, so that two of them can't wait for each other.
 */
export function dailySums(entries: readonly LedgerEntry[]): readonly DailySum[] {
  const sums = new RunningSums();
  for (const entry of entries) sums.add(entry, countsAsRequest(entry) ? 1 : 0);
  return sums.inOrder().filter((sum) => !isEmpty(sum));
}

/** Several sums of one key become one. In the order of the key. */
export function sumOfSums(sums: readonly DailySum[]): readonly DailySum[] {
  const totals = new RunningSums();
  for (const sum of sums) totals.add(sum, sum.requests);
  return totals.inOrder();
}

/** NUL can't be in a text of the ledger, so that no two keys look alike. */
export function keyOf({ token_id, local_day, provider, model }: SumKey): string {
  return `${token_id}\0${local_day}\0${provider}\0${model}`;
}

type SumKey = Pick<DailySum, 'token_id' | 'local_day' | 'provider' | 'model'>;
type Tokens = Pick<DailySum, 'input_tokens' | 'cached_tokens' | 'output_tokens'>;

/** Sums that grow in place: a batch has many entries of few keys. */
class RunningSums {
  readonly #byKey = new Map<string, Mutable<DailySum>>();

  add(key: SumKey & Tokens, requests: number): void {
    const sum = this.#sumOf(key);
    sum.requests += requests;
    sum.input_tokens += key.input_tokens;
    sum.cached_tokens += key.cached_tokens;
    sum.output_tokens += key.output_tokens;
  }

  inOrder(): readonly DailySum[] {
    return [...this.#byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
  }

  #sumOf(key: SumKey): Mutable<DailySum> {
    const text = keyOf(key);
    const known = this.#byKey.get(text);
    if (known !== undefined) return known;
    const sum = emptySum(key);
    this.#byKey.set(text, sum);
    return sum;
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

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

function isEmpty({ requests, input_tokens, cached_tokens, output_tokens }: DailySum): boolean {
  return requests + input_tokens + cached_tokens + output_tokens === 0;
}
