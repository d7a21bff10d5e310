import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { UsageTotals as UsageTotalsMessage } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { addLocalDays, type LocalDay, localDayOf, startOfLocalDayMs } from '@gateway/time';

/** Input includes cached tokens. */
export type UsageTotals = Omit<UsageTotalsMessage, '$typeName' | '$unknown'>;

/** What one model used on one local day. */
export interface DailyUsage {
  readonly localDay: LocalDay;
  readonly provider: string;
  readonly model: string;
  readonly totals: UsageTotals;
}

type ModelUsage = Omit<DailyUsage, 'localDay'>;

/** The local days that the periods cover at a moment, first and last. */
export function daysOfPeriods(nowMs: number): { readonly first: LocalDay; readonly today: LocalDay } {
  const today = localDayOf(nowMs);
  return { first: addLocalDays(today, -6), today };
}

/** Sums the days of one token up to both periods. Days outside of them do not count. @see spec "Usage object" */
export function usagePeriods(days: readonly DailyUsage[], nowMs: number) {
  const { first, today } = daysOfPeriods(nowMs);
  return { today: periodOf(days, today, today), lastSevenDays: periodOf(days, first, today) };
}

export function sumOf(a: UsageTotals, b: UsageTotals): UsageTotals {
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
    /** The local midnight at which it began. */
    since: timestampFromMs(startOfLocalDayMs(first)),
    totals: totalsOf(within),
    byModel: usages.sort(largestFirst),
  };
}

function totalsOf(days: readonly DailyUsage[]): UsageTotals {
  const nothing = { requests: 0n, inputTokens: 0n, cachedTokens: 0n, outputTokens: 0n };
  return days.map(({ totals }) => totals).reduce(sumOf, nothing);
}

/** Equal ones in the order of provider and model. */
function largestFirst(a: ModelUsage, b: ModelUsage): number {
  return -compare(totalTokens(a), totalTokens(b)) || compare(a.provider, b.provider) || compare(a.model, b.model);
}

/** Input plus output: the number that the daily budget counts. @see spec "Usage object" */
function totalTokens({ totals: { inputTokens, outputTokens } }: ModelUsage): bigint {
  return inputTokens + outputTokens;
}

function compare<T extends string | bigint>(a: T, b: T): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
