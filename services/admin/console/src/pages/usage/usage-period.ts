/** Consecutive local days, both included: "2026-11-01" to "2026-11-20". */
export interface Period {
  readonly firstDay: string;
  readonly lastDay: string;
}

/** Common periods, by their names in the address. @param today the current local day. */
export function periodsOf(today: string): Readonly<Record<string, Period & { readonly label: string }>> {
  const month = today.slice(0, 7);
  const lastOfMonthBefore = addDays(`${month}-01`, -1);
  return {
    '7d': { label: 'Last 7 days', firstDay: addDays(today, -6), lastDay: today },
    '30d': { label: 'Last 30 days', firstDay: addDays(today, -29), lastDay: today },
    month: { label: 'This month', firstDay: `${month}-01`, lastDay: today },
    'month-before': {
      label: 'Last month',
      firstDay: `${lastOfMonthBefore.slice(0, 7)}-01`,
      lastDay: lastOfMonthBefore,
    },
  };
}

/** The problem of a period. Undefined if it is valid. */
export function periodProblem({ firstDay, lastDay }: Period): string | undefined {
  if (!isDay(firstDay) || !isDay(lastDay)) return 'Enter both days.';
  if (firstDay > lastDay) return 'The first day must not be after the last day.';
  return dayNumber(lastDay) - dayNumber(firstDay) > mostDays ? 'A report covers at most ten years.' : undefined;
}

/** The most days between the first and the last day of a report. */
const mostDays = 3660;

/** Every day of the period. */
export function daysOf({ firstDay, lastDay }: Period): readonly string[] {
  const first = dayNumber(firstDay);
  return Array.from({ length: Math.max(0, dayNumber(lastDay) - first + 1) }, (_, index) => dayOfNumber(first + index));
}

export function addDays(day: string, days: number): string {
  return dayOfNumber(dayNumber(day) + days);
}

/** Noon of the day in UTC, in seconds: the same day in every chart, whatever the zone. */
export function noonOf(day: string): number {
  return dayNumber(day) * secondsPerDay + secondsPerDay / 2;
}

/** "20 Nov" of such a noon. */
export function dayLabel(seconds: number): string {
  return shortDay.format(seconds * 1000);
}

const shortDay = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' });

const secondsPerDay = 86_400;

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}

function dayNumber(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) / 1000 / secondsPerDay;
}

function dayOfNumber(number: number): string {
  return new Date(number * secondsPerDay * 1000).toISOString().slice(0, 10);
}
