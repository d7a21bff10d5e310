import { formatDuration } from '@gateway/presentation';
import { type ReactNode, useSyncExternalStore } from 'react';

/** The time zone of the local days of limits and usage. */
const dayZone = 'Europe/Amsterdam';

const day = { day: 'numeric', month: 'short' } as const;
const minute = { hour: '2-digit', minute: '2-digit' } as const;
const clockTime = new Intl.DateTimeFormat('en-GB', { ...minute, second: '2-digit' });
const dateTime = new Intl.DateTimeFormat('en-GB', { ...day, ...minute, second: '2-digit' });
const minuteTime = new Intl.DateTimeFormat('en-GB', minute);
const dayMinuteTime = new Intl.DateTimeFormat('en-GB', { ...day, ...minute });
const yearTime = new Intl.DateTimeFormat('en-GB', { ...day, year: 'numeric', ...minute });
const dayTime = new Intl.DateTimeFormat('en-GB', { timeZone: dayZone, ...day, ...minute });
const isoDay = new Intl.DateTimeFormat('en-CA', {
  timeZone: dayZone,
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
});

/**
 * "14:03:22" today, "20 Nov, 14:03:22" this year, otherwise with the year; in the operator's own
 * zone.
 */
export function formatMoment(atMs: number): string {
  const date = new Date(atMs);
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return clockTime.format(date);
  return (date.getFullYear() === now.getFullYear() ? dateTime : yearTime).format(date);
}

/** A text of the gateway with its times as in the rest of the console. */
export function withLocalTimes(text: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (iso) => formatMoment(Date.parse(iso)));
}

/** "14:03", for axes. */
export function formatClock(atMs: number): string {
  return minuteTime.format(atMs);
}

/** The same to the minute, for forecasts: "14:03", "20 Nov, 14:03". */
function formatMinute(atMs: number): string {
  const date = new Date(atMs);
  return (date.toDateString() === new Date().toDateString() ? minuteTime : dayMinuteTime).format(date);
}

/** "2026-11-20": the local day in Europe/Amsterdam. */
export function localDayOf(atMs: number): string {
  return isoDay.format(atMs);
}

/** A time in the operator's zone; its title is the exact time in UTC. */
export function Time({ at, toMinute = false }: { readonly at: number | undefined; readonly toMinute?: boolean }) {
  if (at === undefined) return <span className="faint">–</span>;
  return <Exact at={at}>{toMinute ? formatMinute(at) : formatMoment(at)}</Exact>;
}

/** A time at which a day of limits and usage begins or ends: "21 Nov, 00:00 Amsterdam". */
export function DayTime({ at }: { readonly at: number }) {
  return <Exact at={at}>{dayTime.format(at)} Amsterdam</Exact>;
}

/** "4 min ago". Updates automatically. */
export function Ago({ at }: { readonly at: number | undefined }) {
  const nowMs = useNowMs();
  if (at === undefined) return <span className="faint">never</span>;
  return <Exact at={at}>{formatDuration((nowMs - at) / 1000)} ago</Exact>;
}

function Exact({ at, children }: { readonly at: number; readonly children: ReactNode }) {
  const iso = new Date(at).toISOString();
  return (
    <time dateTime={iso} title={iso}>
      {children}
    </time>
  );
}

/** "3 h 5 min", counting down to "now". */
export function Countdown({ to }: { readonly to: number }) {
  const seconds = (to - useNowMs()) / 1000;
  return <span className="countdown">{seconds < 0.5 ? 'now' : formatDuration(seconds)}</span>;
}

/** The current time, updated every second. One timer for all users. */
export function useNowMs(): number {
  return useSyncExternalStore(everySecond, () => nowMs);
}

let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function everySecond(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) nowMs = Date.now();
  timer ??= setInterval(() => {
    nowMs = Date.now();
    for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
