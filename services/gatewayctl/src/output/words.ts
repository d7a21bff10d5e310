import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';

// Values as a person reads them.

/** A duration: "3.2 ms", "120 ms", "2.1 s", "12 min", "5 h 20 min", "3 d 4 h". */
export function durationText(ms: number): string {
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 99_950) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** The name of an enum value in lower case: `rate_limited`. */
export function enumWord(names: Readonly<Record<number, string>>, value: number): string {
  return (names[value] ?? 'unknown').toLowerCase();
}

export function timeText(time: Timestamp | undefined, otherwise = ''): string {
  return time === undefined ? otherwise : timestampDate(time).toISOString();
}

export function percent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`;
}

/** "1.2 GiB" */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return `${(bytes / 1_024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

/** Millionths of a currency: "12.50 EUR". Small amounts keep what they have. */
export function moneyText(micros: bigint, currency: string): string {
  const amount = Number(micros) / 1_000_000;
  return `${amount.toFixed(amount !== 0 && Math.abs(amount) < 0.1 ? 4 : 2)} ${currency}`;
}
