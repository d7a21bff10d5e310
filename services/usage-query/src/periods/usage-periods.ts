import type { UsageTotals as UsageTotalsMessage } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { addLocalDays, type LocalDay, localDayOf, startOfLocalDayMs } from '@gateway/time';

/** Input includes cached tokens. */
export type UsageTotals = Pick<UsageTotalsMessage, 'requests' | 'inputTokens' | 'cachedTokens' | 'outputTokens'>;

/** The usage of one model on one local day. */
export interface DailyUsage {
  readonly localDay: LocalDay;
  readonly provider: string;
  readonly model: string;
  readonly totals: UsageTotals;
}

type ModelUsage = Omit<DailyUsage, 'localDay'>;

/** The first and last local day of the periods at an instant. */
export function daysOfPeriods(nowMs: number): { readonly first: LocalDay; readonly today: LocalDay } {
  const today = localDayOf(nowMs);
  return { first: addLocalDays(today, -6), today };
}

/**
 * Adds up one token's days into both periods. Days outside of them are ignored.
 * @see spec "Usage object"
 */
export function usagePeriods(days: readonly DailyUsage[], nowMs: number) {
  const { first, today } = daysOfPeriods(nowMs);
  return { today: periodOf(days, today, today), lastSevenDays: periodOf(days, first, today) };
}

function sumOf(a: UsageTotals, b: UsageTotals): UsageTotals {
  return {
    requests: a.requests + b.requests,
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  };
}

function periodOf(days: readonly DailyUsage[], first: LocalDay, last: LocalDay) {
  const within = days.filter(({ localDay }) => localDay >= first && localDay <= last);
  const byModel = Map.groupBy(within, ({ provider, model }) => JSON.stringify([provider, model]));
  const usages = [...byModel.values()].map((ofModel) => {
    const { provider = '', model = '' } = ofModel[0] ?? {};
    return { provider, model, totals: totalsOf(ofModel) };
  });
  return {
    /** The local midnight at which the period started. */
    sinceMs: startOfLocalDayMs(first),
    totals: totalsOf(within),
    byModel: usages.sort(largestFirst),
  };
}

function totalsOf(days: readonly DailyUsage[]): UsageTotals {
  const nothing = { requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 };
  return days.map(({ totals }) => totals).reduce(sumOf, nothing);
}

/** Models with equal usage are sorted by provider and model. */
function largestFirst(a: ModelUsage, b: ModelUsage): number {
  return -compare(totalTokens(a), totalTokens(b)) || compare(a.provider, b.provider) || compare(a.model, b.model);
}

/** Input plus output: the number that counts towards the daily budget. @see spec "Usage object" */
function totalTokens({ totals: { inputTokens, outputTokens } }: ModelUsage): number {
  return inputTokens + outputTokens;
}

function compare<T extends string | number>(a: T, b: T): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
