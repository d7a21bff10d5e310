import type { UsageDailyTable } from './schema.ts';

/** The columns that daily sums add up. */
export const summedColumns = ['requests', 'input_tokens', 'cached_tokens', 'output_tokens'] as const;

export type SummedColumn = (typeof summedColumns)[number];

/** A row's sums in the form of a message. */
export function totalsOf(row: Pick<UsageDailyTable, SummedColumn>) {
  return {
    requests: BigInt(row.requests),
    inputTokens: BigInt(row.input_tokens),
    cachedTokens: BigInt(row.cached_tokens),
    outputTokens: BigInt(row.output_tokens),
  };
}
