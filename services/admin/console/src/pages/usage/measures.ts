import { formatCompact, formatCount, formatCountOf, moneyText } from '@gateway/presentation';
import type { Cost, UsageRow } from '@gateway/proto/admin/v1/usage_service_pb.js';
import type { UsageTotals } from '@gateway/proto/usage/v1/usage_service_pb.js';

/** A measure of usage. */
export type MeasureName = 'tokens' | 'requests' | 'money';

export interface Measure {
  readonly label: string;
  readonly of: (totals: UsageTotals | undefined, cost: Cost | undefined) => number;
  readonly format: (value: number) => string;
  /** For axes. */
  readonly short: (value: number) => string;
}

/** @param currency empty if the gateway has no prices: then there is no cost. */
export function measuresOf(currency: string): Readonly<Partial<Record<MeasureName, Measure>>> {
  const counts = { format: formatCount, short: formatCompact };
  const money = (value: number) => moneyText(value, currency);
  return {
    tokens: { label: 'Tokens', of: (totals) => tokensOf(totals), ...counts },
    requests: { label: 'Requests', of: (totals) => totals?.requests ?? 0, ...counts },
    ...(currency === ''
      ? {}
      : { money: { label: 'Cost', of: (_totals, cost) => cost?.micros ?? 0, format: money, short: money } }),
  };
}

/** Input and output together, as the day budget counts them. */
export function tokensOf(totals: UsageTotals | undefined): number {
  return totals === undefined ? 0 : totals.inputTokens + totals.outputTokens;
}

/** Input that was written to a provider's cache, for any time. */
export function cacheWritesOf(totals: UsageTotals | undefined): number {
  return totals === undefined ? 0 : totals.cacheWrite5mTokens + totals.cacheWrite1hTokens;
}

/** A cost, or that nothing of it has a price, which is not the same as free of charge. */
export function costText({ costMicros, unpricedTokens, unpricedCalls }: CostFacts, currency: string): string {
  const isUnpriced = costMicros === 0 && unpricedTokens + unpricedCalls > 0;
  return isUnpriced ? 'no price' : moneyText(costMicros, currency);
}

type CostFacts = Readonly<
  Record<'costMicros' | 'unpricedTokens' | 'unpricedCalls' | 'computedAfterwardsMicros', number>
>;

/** What a reader must know about a cost. Undefined: nothing. */
export function costNote(
  { unpricedTokens, unpricedCalls, computedAfterwardsMicros }: Omit<CostFacts, 'costMicros'>,
  currency: string,
): string | undefined {
  const without = [
    unpricedTokens > 0 && formatCountOf(unpricedTokens, 'token'),
    unpricedCalls > 0 && formatCountOf(unpricedCalls, 'tool call'),
  ].filter((text) => text !== false);
  const unpriced = without.length > 0 && `excludes ${without.join(' and ')} without a price`;
  const afterwards =
    computedAfterwardsMicros > 0 &&
    `${moneyText(computedAfterwardsMicros, currency)} computed afterwards, at today's prices`;
  const notes = [unpriced, afterwards].filter((note) => note !== false);
  return notes.length === 0 ? undefined : notes.join('; ');
}

/** The sum of the rows, or of the same rows in the period before. */
export function sumOf(rows: readonly UsageRow[], when: 'now' | 'before' = 'now') {
  const picked = rows.map(({ usage, cost, before, costBefore }) =>
    when === 'now' ? { totals: usage?.totals, cost } : { totals: before, cost: costBefore },
  );
  const add = (pick: (each: (typeof picked)[number]) => number | undefined) =>
    picked.reduce((sum, each) => sum + (pick(each) ?? 0), 0);
  return {
    requests: add(({ totals }) => totals?.requests),
    inputTokens: add(({ totals }) => totals?.inputTokens),
    cachedTokens: add(({ totals }) => totals?.cachedTokens),
    cacheWriteTokens: add(({ totals }) => cacheWritesOf(totals)),
    outputTokens: add(({ totals }) => totals?.outputTokens),
    costMicros: add(({ cost }) => cost?.micros),
    unpricedTokens: add(({ cost }) => cost?.unpricedTokens),
    unpricedCalls: add(({ cost }) => cost?.unpricedCalls),
    computedAfterwardsMicros: add(({ cost }) => cost?.computedAfterwardsMicros),
  };
}

/** "+12 %", "−3 %"; "new" if there was nothing before. Empty if both are zero. */
export function changeText(now: number, before: number): string {
  if (before === 0) return now === 0 ? '' : 'new';
  const percent = Math.round((now / before - 1) * 100);
  return percent === 0 ? '±0\u00a0%' : `${percent > 0 ? '+' : '−'}${Math.abs(percent)}\u00a0%`;
}
