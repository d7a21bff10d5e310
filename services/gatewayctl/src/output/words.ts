import { formatBytes } from '@gateway/presentation/numbers';

// Formats values for people.

/**
 * A duration: "3.2 ms", "120 ms", "2.1 s", "12 min", "5 h 20 min", "3 d 4 h"; the same as the
 * console.
 */
export function durationText(ms: number): string {
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 99_950) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? parts(hours, 'h', minutes % 60, 'min') : parts(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function parts(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return `${large} ${largeUnit}${small === 0 ? '' : ` ${small} ${smallUnit}`}`;
}

/** "1 day", "3 days" */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The name of an enum value in lower case: `rate_limited`. */
export function enumWord(names: Readonly<Record<number, string>>, value: number): string {
  return (names[value] ?? 'unknown').toLowerCase();
}

/**
 * A time to the second, with the name of its zone: "2026-11-21 09:00:00 UTC". Flags accept it as
 * well. JSON has ISO 8601 with milliseconds.
 */
export function timeText(atMs: number | undefined, otherwise = ''): string {
  return atMs === undefined ? otherwise : withNamedZone(new Date(atMs).toISOString());
}

/** A text of the gateway with its times as in the rest of the output. */
export function withNamedZone(text: string): string {
  return text.replaceAll(/(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z/g, '$1 $2 UTC');
}

export function percent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`;
}

/** "1.2 GiB", "213 MiB" */
export function bytesText(bytes: number): string {
  return formatBytes(bytes).replaceAll('\u00a0', ' ');
}
