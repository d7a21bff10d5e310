import { addLocalDays, type LocalDay, localDayOf, startOfLocalDayMs } from '@gateway/time';

/** As they travel. Input includes cached tokens. */
export interface UsageTotals {
  readonly requests: bigint;
  readonly inputTokens: bigint;
  readonly cachedTokens: bigint;
  readonly outputTokens: bigint;
}

export interface ModelUsage {
  readonly provider: string;
  readonly model: string;
  readonly totals: UsageTotals;
}

/** What one model used on one local day. */
export interface DailyUsage extends ModelUsage {
  readonly localDay: LocalDay;
}

export interface UsagePeriod {
  /** The local midnight at which it began. */
  readonly sinceMs: number;
  readonly totals: UsageTotals;
  /** Largest total first; equal ones in the order of provider and model. */
  readonly byModel: readonly ModelUsage[];
}

/** Today, and the seven local days that end with it. @see spec "Usage object" */
export interface UsagePeriods {
  readonly today: UsagePeriod;
  readonly lastSevenDays: UsagePeriod;
}

/** The local days that the periods cover at a moment, first and last. */
export function daysOfPeriods(nowMs: number): { readonly first: LocalDay; readonly today: LocalDay } {
  const today = localDayOf(nowMs);
  return { first: addLocalDays(today, -6), today };
}

/** Sums the days of one token up to both periods. Days outside of them do not count. */
export function usagePeriods(days: readonly DailyUsage[], nowMs: number): UsagePeriods {
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

function periodOf(days: readonly DailyUsage[], first: LocalDay, last: LocalDay): UsagePeriod {
  const within = days.filter(({ localDay }) => localDay >= first && localDay <= last);
  return {
    sinceMs: startOfLocalDayMs(first),
    totals: within.map(({ totals }) => totals).reduce(sumOf, nothing),
    byModel: modelUsages(within).sort(largestFirst),
  };
}

const nothing: UsageTotals = { requests: 0n, inputTokens: 0n, cachedTokens: 0n, outputTokens: 0n };

function modelUsages(days: readonly DailyUsage[]): ModelUsage[] {
  const byModel = Map.groupBy(days, ({ provider, model }) => JSON.stringify([provider, model]));
  return [...byModel.values()].flatMap((ofModel) => {
    const [first] = ofModel;
    if (first === undefined) return [];
    const totals = ofModel.map((day) => day.totals).reduce(sumOf, nothing);
    return { provider: first.provider, model: first.model, totals };
  });
}

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
