import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { QuotaWindowSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { msUntil } from '@gateway/time';
import type { QuotaWindow } from './format-definition.ts';

/** Merges quotas with later reports: the latest report of each counts. */
export function withLaterQuotas(quotas: readonly QuotaWindow[], later: readonly QuotaWindow[]): readonly QuotaWindow[] {
  const isReplaced = ({ name, models }: QuotaWindow) =>
    later.some((window) => window.name === name && window.models === models);
  return [...quotas.filter((window) => !isReplaced(window)), ...later];
}

/** A quota as the contract has it. */
export function toWindow({
  resetsAtMs,
  lengthSeconds,
  ...window
}: QuotaWindow): MessageInitShape<typeof QuotaWindowSchema> {
  return {
    ...window,
    ...(resetsAtMs !== undefined && { resetsAt: timestampFromMs(resetsAtMs), resetsAfterMs: msUntil(resetsAtMs) }),
    lengthSeconds: lengthSeconds ?? 0,
  };
}

type Headers = Readonly<Record<string, string>>;

/** A number in a header; undefined when it is missing or not a number. */
export function numberIn(headers: Headers, name: string): number | undefined {
  const text = headers[name]?.trim();
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/**
 * Epoch milliseconds from `retry-after` or `retry-after-ms`, which contain seconds, milliseconds or
 * a date.
 */
export function readRetryAfterMs({ headers, nowMs }: { headers: Headers; nowMs: number }): number | undefined {
  const milliseconds = numberIn(headers, 'retry-after-ms');
  if (milliseconds !== undefined) return toFutureMs(nowMs + milliseconds, nowMs);
  const seconds = numberIn(headers, 'retry-after');
  if (seconds !== undefined) return toFutureMs(nowMs + seconds * 1_000, nowMs);
  return toFutureMs(Date.parse(headers['retry-after'] ?? ''), nowMs);
}

/** Rounds a future time to whole epoch milliseconds. Undefined for a time in the past. */
export function toFutureMs(epochMs: number, nowMs: number): number | undefined {
  return epochMs > nowMs && epochMs <= latestDateMs ? Math.ceil(epochMs) : undefined;
}

/** The latest time that a Date can represent. */
const latestDateMs = 8.64e15;

/** The latest of the times that are known. */
export function latestMs(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
