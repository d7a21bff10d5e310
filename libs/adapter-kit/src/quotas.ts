import type { MessageInitShape } from '@bufbuild/protobuf';
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
export function toWindow(window: QuotaWindow): MessageInitShape<typeof QuotaWindowSchema> {
  const { resetsAtMs } = window;
  return resetsAtMs === undefined ? window : { ...window, resetsAfterMs: msUntil(resetsAtMs) };
}

type Headers = Readonly<Record<string, string>>;

/** A number in a header; undefined when it is missing or not a number. */
export function numberIn(headers: Headers, name: string): number | undefined {
  const text = headers[name]?.trim();
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** When an answer was received, and how far this machine's clock was ahead of its provider's. */
export interface AnswerTime {
  readonly nowMs: number;
  readonly skewMs?: number | undefined;
}

/**
 * By how much this machine's clock is ahead of the one that wrote the header `date`. 0 where they
 * do not differ visibly, since the header is exact to the second, and where it is missing or
 * differs too much to be believed.
 */
export function readSkewMs({ date = '' }: Headers, nowMs: number): number {
  const skewMs = nowMs - Date.parse(date);
  return Math.abs(skewMs) >= leastSkewMs && Math.abs(skewMs) <= mostSkewMs ? skewMs : 0;
}

const leastSkewMs = 2_000;
const mostSkewMs = 86_400_000;

/**
 * An instant by a provider's clock, in epoch milliseconds of this machine. Undefined when it has
 * passed.
 */
export function fromProviderMs(instantMs: number, { nowMs, skewMs = 0 }: AnswerTime): number | undefined {
  return toFutureMs(instantMs + skewMs, nowMs);
}

/**
 * Epoch milliseconds from `retry-after` or `retry-after-ms`, which contain seconds, milliseconds or
 * a date.
 */
export function readRetryAfterMs(answer: AnswerTime & { readonly headers: Headers }): number | undefined {
  const { headers, nowMs } = answer;
  const milliseconds = numberIn(headers, 'retry-after-ms');
  if (milliseconds !== undefined) return toFutureMs(nowMs + milliseconds, nowMs);
  const seconds = numberIn(headers, 'retry-after');
  if (seconds !== undefined) return toFutureMs(nowMs + seconds * 1_000, nowMs);
  return fromProviderMs(Date.parse(headers['retry-after'] ?? ''), answer);
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
