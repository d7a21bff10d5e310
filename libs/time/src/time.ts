import { epochMs, yieldToEventLoop } from './source.ts';

export {
  beforeSourceChange,
  cacheTime,
  cancelImmediate,
  cancelTimer,
  epochMs,
  type Immediate,
  monotonicMs,
  random,
  randomBytes,
  randomId,
  randomInteger,
  type SleepOptions,
  sleep,
  startImmediate,
  startInterval,
  startProcessInterval,
  startTimer,
  type Timer,
  type TimeSource,
  timeOrderedId,
  timeoutSignal,
  yieldToEventLoop,
} from './source.ts';

/**
 * Whether less than `durationMs` has passed since a time of day. False when that time is in the
 * future, because then the clock was set back: what was known for a while must not be known for
 * longer.
 */
export function isWithin(durationMs: number, sinceMs: number, nowMs: number): boolean {
  return nowMs >= sinceMs && nowMs - sinceMs < durationMs;
}

/**
 * How long until an instant, to be sent to another machine: clocks differ, so the receiver waits by
 * durations only. Whole milliseconds, rounded up, within 32 bits (seven weeks).
 */
export function msUntil(atMs: number, nowMs: number = epochMs()): number {
  return Math.min(2 ** 32 - 1, Math.max(0, Math.ceil(atMs - nowMs)));
}

/**
 * Keeps the processing of a large body from blocking other work. Each body has its own instance.
 */
export class EventLoopYield {
  #bytesSinceYield = 0;

  /** Await this after processing this many bytes: it yields to the event loop every 64 KiB. */
  async spend(bytes: number): Promise<void> {
    this.#bytesSinceYield += bytes;
    if (this.#bytesSinceYield < bytesPerYield) return;
    this.#bytesSinceYield = 0;
    await yieldToEventLoop();
  }
}

/** Takes a fraction of a millisecond to process, or four if they are hostile. */
const bytesPerYield = 64 * 1024;

/** The time zone of local days. @see spec "Token limits" */
export const LOCAL_TIME_ZONE = 'Europe/Amsterdam';

/** A calendar day in LOCAL_TIME_ZONE, "2026-11-20". Lexical order is chronological order. */
export type LocalDay = string;

interface DayBounds {
  readonly day: LocalDay;
  readonly startMs: number;
  readonly endMs: number;
}

/** Whether a text is a calendar day, such as 2026-11-20. */
export function isLocalDay(text: string): boolean {
  if (text === latestValidDay) return true;
  // A day that does not exist is an invalid date or becomes another day.
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(text) : undefined;
  const isDay = date !== undefined && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
  if (isDay) latestValidDay = text;
  return isDay;
}

/** Every request checks its day, which is usually that of the previous request. */
let latestValidDay: LocalDay | undefined;

/** The local day that contains an instant. */
export function localDayOf(epochMs: number): LocalDay {
  return boundsAt(epochMs).day;
}

/**
 * The instant at which a local day starts. Days have 23, 24 or 25 hours: never add 86,400 s to it.
 */
export function startOfLocalDayMs(day: LocalDay): number {
  return boundsOf(day).startMs;
}

/** The instant at which a local day ends: the following midnight. */
export function endOfLocalDayMs(day: LocalDay): number {
  return boundsOf(day).endMs;
}

/** The day `days` days later, or earlier when negative. */
export function addLocalDays(day: LocalDay, days: number): LocalDay {
  return Temporal.PlainDate.from(day).add({ days }).toString();
}

let latest: DayBounds = { day: '', startMs: 0, endMs: 0 };

function boundsAt(epochMs: number): DayBounds {
  if (epochMs >= latest.startMs && epochMs < latest.endMs) return latest;
  const instant = Temporal.Instant.fromEpochMilliseconds(Math.floor(epochMs));
  latest = boundsOf(instant.toZonedDateTimeISO(LOCAL_TIME_ZONE).toPlainDate().toString());
  return latest;
}

/** Every request asks for the same few days, and a time zone calculation is slow. */
const knownBounds = new Map<LocalDay, DayBounds>();

function boundsOf(day: LocalDay): DayBounds {
  if (knownBounds.size >= 1_000) knownBounds.clear();
  return knownBounds.getOrInsertComputed(day, () => {
    const date = Temporal.PlainDate.from(day);
    return { day, startMs: midnightMs(date), endMs: midnightMs(date.add({ days: 1 })) };
  });
}

function midnightMs(date: Temporal.PlainDate): number {
  return date.toZonedDateTime(LOCAL_TIME_ZONE).epochMilliseconds;
}
