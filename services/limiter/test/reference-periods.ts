import { addLocalDays, type LocalDay } from '@gateway/time';
import type { PlainPeriod } from './reference-group.ts';

/** The first day of the period, found by going back one day at a time. */
export function firstDayOf(period: PlainPeriod, day: LocalDay): LocalDay {
  return isFirstOf(period, day) ? day : firstDayOf(period, addLocalDays(day, -1));
}

/** The day before the next one that begins a period. */
export function lastDayOf(period: PlainPeriod, day: LocalDay): LocalDay {
  const next = addLocalDays(day, 1);
  return isFirstOf(period, next) ? day : lastDayOf(period, next);
}

function isFirstOf(period: PlainPeriod, day: LocalDay): boolean {
  if (period === 'day') return true;
  return period === 'week' ? new Date(day).getUTCDay() === 1 : day.endsWith('-01');
}
