import type { UsageDailyTable } from './usage-schema.ts';

/** The columns that daily sums add up. */
export const summedColumns = [
  'requests',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'cost_micros',
  'costed_input_tokens',
  'costed_cached_tokens',
  'costed_cache_write_5m_tokens',
  'costed_cache_write_1h_tokens',
  'costed_output_tokens',
  'unpriced_tokens',
  'unpriced_calls',
] as const satisfies readonly (keyof UsageDailyTable)[];

/** What a daily sum is the sum of. */
export const keyColumns = ['token_id', 'local_day', 'provider', 'model', 'account_id', 'group_id'] as const;

export type SummedColumn = (typeof summedColumns)[number];
export type UsageSums = Readonly<Record<SummedColumn, number>>;

/** Sums with others added or subtracted. */
export function plusSums(sums: UsageSums, others: UsageSums, sign: 1 | -1 = 1): UsageSums {
  const added = summedColumns.map((column) => [column, sums[column] + sign * others[column]] as const);
  return Object.fromEntries(added) as Record<SummedColumn, number>;
}

/** The sums of a row in the form of a message. */
export function totalsOf(row: UsageSums) {
  return {
    requests: row.requests,
    inputTokens: row.input_tokens,
    cachedTokens: row.cached_tokens,
    outputTokens: row.output_tokens,
    cacheWrite5mTokens: row.cache_write_5m_tokens,
    cacheWrite1hTokens: row.cache_write_1h_tokens,
    costMicros: row.cost_micros,
    costed: {
      inputTokens: row.costed_input_tokens,
      cachedTokens: row.costed_cached_tokens,
      cacheWrite5mTokens: row.costed_cache_write_5m_tokens,
      cacheWrite1hTokens: row.costed_cache_write_1h_tokens,
      outputTokens: row.costed_output_tokens,
    },
    unpricedTokens: row.unpriced_tokens,
    unpricedCalls: row.unpriced_calls,
  };
}
