import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import { addLocalDays, type LocalDay } from '@gateway/time';

/** What a counter counts: the tokens of a local day, or the money of a budget's period. */
export interface Span {
  /** "d:2026-11-20", "b:month:2026-11-01": unique among the counters of a key. */
  readonly name: string;
  /** The budget's. Absent: it counts the tokens of a day. */
  readonly period?: BudgetPeriod;
  /** Of money, millionths of the currency. */
  readonly unit: 'tokens' | 'micros';
  readonly firstDay: LocalDay;
  /** Included. */
  readonly lastDay: LocalDay;
}

export function daySpan(day: LocalDay): Span {
  return { name: `d:${day}`, unit: 'tokens', firstDay: day, lastDay: day };
}

/** The period of a budget that contains a day. Weeks begin on Monday. */
export function budgetSpan(period: BudgetPeriod, day: LocalDay): Span {
  if (knownSpans.size >= 1_000) knownSpans.clear();
  return knownSpans.getOrInsertComputed(`${period}/${day}`, () => {
    const name = periodNames[period];
    const [firstDay, lastDay] = daysOf(name, day);
    return { name: `b:${name}:${firstDay}`, unit: 'micros', period, firstDay, lastDay };
  });
}

export type PeriodName = (typeof periodNames)[BudgetPeriod];

/** An unspecified period is the longest one. */
export const periodNames = {
  [BudgetPeriod.UNSPECIFIED]: 'month',
  [BudgetPeriod.DAY]: 'day',
  [BudgetPeriod.WEEK]: 'week',
  [BudgetPeriod.MONTH]: 'month',
} as const;

/** Every request of a group asks for the same few periods. */
const knownSpans = new Map<string, Span>();

function daysOf(period: PeriodName, day: LocalDay): readonly [first: LocalDay, last: LocalDay] {
  const date = Temporal.PlainDate.from(day);
  if (period === 'day') return [day, day];
  if (period === 'week') return [addLocalDays(day, 1 - date.dayOfWeek), addLocalDays(day, 7 - date.dayOfWeek)];
  return [date.with({ day: 1 }).toString(), date.with({ day: date.daysInMonth }).toString()];
}
