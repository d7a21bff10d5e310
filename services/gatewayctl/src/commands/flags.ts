import { readFile } from 'node:fs/promises';
import { addLocalDays, endOfLocalDayMs, epochMs, isLocalDay, type LocalDay, localDayOf } from '@gateway/time';
import { InvalidArgumentError } from 'commander';
import { UsageError } from '../failures.ts';

// Parsers of flags and arguments. Commander adds the name of the flag to each error.

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = max === Number.MAX_SAFE_INTEGER ? `, ${min} or more` : ` from ${min} to ${max}`;
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number${range}.`);
  };
}

/** A day of the calendar in Europe/Amsterdam. */
export function localDay(text: string, nowMs = epochMs()): LocalDay {
  const today = localDayOf(nowMs);
  if (text === 'today') return today;
  if (text === 'yesterday') return addLocalDays(today, -1);
  if (isLocalDay(text)) return text;
  throw new InvalidArgumentError('It must be a day such as 2026-11-20, today or yesterday.');
}

const unitsMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** "90s", "15m", "12h", "30d", "2w" */
export function durationMs(text: string): number {
  const { number = '', unit = '' } = /^(?<number>\d{1,6})(?<unit>[smhdw])$/.exec(text)?.groups ?? {};
  if (unit in unitsMs) return Number(number) * unitsMs[unit as keyof typeof unitsMs];
  throw new InvalidArgumentError('It must be a duration such as 90s, 15m, 12h, 30d or 2w.');
}

/** A time in the past: a duration before now, or a time. */
export function pastMoment(text: string): number {
  if (/^\d+[smhdw]$/.test(text)) return epochMs() - durationMs(text);
  return moment(text);
}

/** A time in the future: a duration from now, the end of a day, or a time. */
export function comingMoment(text: string): number {
  if (/^\d+[smhdw]$/.test(text)) return epochMs() + durationMs(text);
  const atMs = isLocalDay(text) ? endOfLocalDayMs(text) : moment(text);
  if (atMs > epochMs()) return atMs;
  throw new InvalidArgumentError('It must be in the future.');
}

function moment(text: string): number {
  const iso = text.replace(/^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC$/, '$1T$2Z');
  const ms = /^\d{4}-\d\d-\d\dT/.test(iso) ? Date.parse(iso) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new InvalidArgumentError('It must be a duration such as 12h or 30d, or a time such as 2026-11-20T09:00:00Z.');
}

export function accountId(text: string): string {
  if (/^[A-Za-z][A-Za-z0-9._-]*\/[A-Za-z0-9][A-Za-z0-9._@-]*$/.test(text)) return text;
  throw new InvalidArgumentError('It must be pool/name, such as responses/team-b.');
}

/** "7d": this many local days, including today. */
export function daysBack(text: string): number {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  if (days !== undefined && Number(days) > 0) return Number(days);
  throw new InvalidArgumentError('It must be a number of days such as 7d.');
}

/** A number, or none. */
export function numberOrNone(min: number, max?: number): (text: string) => number | 'none' {
  const toNumber = wholeNumber(min, max);
  return (text) => (text === 'none' ? text : toNumber(text));
}

/** An id, or the beginning of one. It may end with an ellipsis in place of the rest. */
export function idOrPrefix(text: string): string {
  return text.replace(/…$/, '');
}

/** The text of a file that the user names. @param path where it is read. @throws UsageError */
export async function readNamedFile(name: string, path = name): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    const reason = thrown instanceof Error && 'code' in thrown ? ` (${String(thrown.code)})` : '';
    throw new UsageError(`${name}: the file can't be read${reason}.`);
  }
}

/** The flags that select a part of a list, newest first. */
export interface RangeFlags {
  readonly since?: number;
  readonly until?: number;
  /** The most rows. */
  readonly last: number;
}

/** The flags that select days. */
export interface PeriodFlags {
  readonly from?: LocalDay;
  readonly to?: LocalDay;
  /** This many days, including today. */
  readonly since?: number;
}

/** The period of the flags; by default the console's, the last seven days. @throws UsageError */
export function periodOf({ from, to, since }: PeriodFlags, nowMs = epochMs()) {
  const today = localDayOf(nowMs);
  const isNamed = from !== undefined || to !== undefined;
  if (since !== undefined && isNamed) throw new UsageError('use either --since, or --from and --to.');
  if (!isNamed) return { firstDay: addLocalDays(today, 1 - (since ?? defaultDays)), lastDay: today };
  const lastDay = to ?? today;
  const firstDay = from ?? lastDay;
  if (lastDay < firstDay) throw new UsageError('--to is before --from.');
  return { firstDay, lastDay };
}

const defaultDays = 7;

export function daysOf({ firstDay, lastDay }: ReturnType<typeof periodOf>): readonly LocalDay[] {
  const days: LocalDay[] = [];
  for (let day = firstDay; day <= lastDay; day = addLocalDays(day, 1)) days.push(day);
  return days;
}
