/** The median of a figure over the rounds, and its extremes. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Undefined if there are no values. */
export function spreadOf(values: readonly number[]): Spread | undefined {
  const sorted = values.filter(Number.isFinite).toSorted((a, b) => a - b);
  if (sorted.length === 0) return undefined;
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
  return { median, least: sorted[0] ?? median, most: sorted.at(-1) ?? median };
}

/** The quantile of sorted values. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
