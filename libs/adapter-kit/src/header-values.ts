import type { QuotaWindow } from './format-definition.ts';

type Headers = Readonly<Record<string, string>>;

/** A number in a header; undefined when it is not there or no number. */
export function numberIn(headers: Headers, name: string): number | undefined {
  const text = headers[name]?.trim();
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Epoch milliseconds that `retry-after` or `retry-after-ms` names: seconds, milliseconds or a date. */
export function readRetryAfterMs({ headers, nowMs }: { headers: Headers; nowMs: number }): number | undefined {
  const milliseconds = numberIn(headers, 'retry-after-ms');
  if (milliseconds !== undefined) return toFutureMs(nowMs + milliseconds, nowMs);
  const seconds = numberIn(headers, 'retry-after');
  if (seconds !== undefined) return toFutureMs(nowMs + seconds * 1_000, nowMs);
  return toFutureMs(Date.parse(headers['retry-after'] ?? ''), nowMs);
}

/** A whole number of milliseconds in the future, in epoch milliseconds. Undefined for a time that has passed. */
export function toFutureMs(epochMs: number, nowMs: number): number | undefined {
  return epochMs > nowMs && epochMs <= latestDateMs ? Math.ceil(epochMs) : undefined;
}

/** The last time that a Date can hold. */
const latestDateMs = 8.64e15;

/** The latest of the known times. */
export function latestMs(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** Quotas with what was reported later: the latest word on each counts. */
export function withLaterQuotas(quotas: readonly QuotaWindow[], later: readonly QuotaWindow[]): readonly QuotaWindow[] {
  const isReplaced = ({ name, models }: QuotaWindow) =>
    later.some((window) => window.name === name && window.models === models);
  return [...quotas.filter((window) => !isReplaced(window)), ...later];
}
