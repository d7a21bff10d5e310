import type { LimitStatus } from '@gateway/proto/limiter/v2/limit_pb.js';

/**
 * The tokens that count for a day's limit. The limiter says only how many are left; the last
 * request of a day may use more than that, which the ledger knows.
 * @param recorded today, by the ledger
 */
export function usedToday(tokens: LimitStatus['tokens'], recorded: number): number {
  const used = tokens === undefined ? 0 : tokens.limit - tokens.remaining;
  return Math.max(used, recorded);
}

/** " (limit reached)", or nothing. */
export function reachedText(remaining: number | undefined): string {
  return remaining === 0 ? ' (limit reached)' : '';
}
