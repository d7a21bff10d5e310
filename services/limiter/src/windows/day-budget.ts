import { addLocalDays, endOfLocalDayMs, type LocalDay, localDayOf, startOfLocalDayMs } from '@gateway/time';

/** A local day and the instants between which it lies: start included, end (the coming midnight) not. */
export interface DaySpan {
  readonly day: LocalDay;
  readonly startMs: number;
  readonly endMs: number;
}

/** How long a day's counter outlives its midnight, for requests that were admitted before it and end after it. */
const keptAfterMidnightMs = 6 * 3_600_000;

export function daySpanAt(epochMs: number): DaySpan {
  if (epochMs >= latest.startMs && epochMs < latest.endMs) return latest;
  return daySpanOf(localDayOf(epochMs));
}

export function daySpanOf(day: LocalDay): DaySpan {
  if (day !== latest.day) latest = { day, startMs: startOfLocalDayMs(day), endMs: endOfLocalDayMs(day) };
  return latest;
}

/** From when on nothing is remembered of a day. */
export function dayForgottenAtMs(day: LocalDay): number {
  return daySpanOf(day).endMs + keptAfterMidnightMs;
}

/** Whether tokens of that day still matter (`open`), can't limit anything any more (`over`), or can't exist yet. */
export function dayState(day: LocalDay, nowMs: number): 'open' | 'over' | 'future' {
  const today = localDayOf(nowMs);
  if (day === today) return 'open';
  // A caller's clock may run ahead of ours across midnight: tomorrow is taken.
  if (day > addLocalDays(today, 1)) return 'future';
  return nowMs < dayForgottenAtMs(day) ? 'open' : 'over';
}

export function isLocalDay(text: string): boolean {
  if (text === latest.day) return true;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const [year = 0, month = 0, day = 0] = text.split('-').map(Number);
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

// Almost every call asks for today; working out a midnight costs more than the rest of a decision.
let latest: DaySpan = { day: '', startMs: 0, endMs: 0 };
