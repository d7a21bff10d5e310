import type { UpstreamErrorAnswer } from '@gateway/adapter-kit';
import { type ProviderError, toFutureMs } from './provider-error.ts';

type Headers = UpstreamErrorAnswer['headers'];
type AnswerHead = Pick<UpstreamErrorAnswer, 'headers' | 'nowMs'>;

/**
 * Epoch milliseconds at which the provider says to come back; undefined when it says nothing of use. The plainest
 * statement wins: the retry headers, the error body, a subscription's used-up windows, an API key's used-up limits.
 * @see https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers
 */
export function readRetryAt(answer: AnswerHead, error: ProviderError): number | undefined {
  return retryAfterMs(answer) ?? error.resetsAtMs ?? exhaustedWindowsResetMs(answer) ?? exhaustedLimitsResetMs(answer);
}

/**
 * When the last of a subscription's used-up windows resets (`x-codex-primary-…`, `x-codex-secondary-…`, and the same of
 * a model family, `x-codex-<family>-primary-…`); undefined when none is used up.
 */
export function exhaustedWindowsResetMs({ headers, nowMs }: AnswerHead): number | undefined {
  const resets = Object.keys(headers)
    .map((name) => /^(x-codex-(?:.+-)?(?:primary|secondary)-)used-percent$/.exec(name)?.[1])
    .filter((window) => window !== undefined)
    .filter((window) => (numberIn(headers, `${window}used-percent`) ?? 0) >= 100)
    .map((window) => windowResetMs(window, headers, nowMs));
  return latest(resets);
}

function windowResetMs(window: string, headers: Headers, nowMs: number): number | undefined {
  const resetAtSeconds = numberIn(headers, `${window}reset-at`);
  if (resetAtSeconds !== undefined) return toFutureMs(resetAtSeconds * 1_000, nowMs);
  const resetAfterSeconds = numberIn(headers, `${window}reset-after-seconds`);
  return resetAfterSeconds === undefined ? undefined : toFutureMs(nowMs + resetAfterSeconds * 1_000, nowMs);
}

function retryAfterMs({ headers, nowMs }: AnswerHead): number | undefined {
  const milliseconds = numberIn(headers, 'retry-after-ms');
  if (milliseconds !== undefined) return toFutureMs(nowMs + milliseconds, nowMs);
  const seconds = numberIn(headers, 'retry-after');
  if (seconds !== undefined) return toFutureMs(nowMs + seconds * 1_000, nowMs);
  return toFutureMs(Date.parse(headers['retry-after'] ?? ''), nowMs);
}

/** A limit with something left is not the one that was hit. */
function exhaustedLimitsResetMs({ headers, nowMs }: AnswerHead): number | undefined {
  const resets = ['requests', 'tokens']
    .filter((limit) => (numberIn(headers, `x-ratelimit-remaining-${limit}`) ?? 0) <= 0)
    .map((limit) => parseDurationMs(headers[`x-ratelimit-reset-${limit}`] ?? ''))
    .map((durationMs) => (durationMs === undefined ? undefined : toFutureMs(nowMs + durationMs, nowMs)));
  return latest(resets);
}

const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** A duration as Go writes it: `12ms`, `1s`, `6m0s`, `7h49m35s`. */
function parseDurationMs(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|h|m|s))+$/.test(text)) return undefined;
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g);
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (unitMs[unit ?? ''] ?? 0), 0);
}

function numberIn(headers: Headers, name: string): number | undefined {
  const text = headers[name]?.trim();
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

function latest(moments: readonly (number | undefined)[]): number | undefined {
  const known = moments.filter((moment) => moment !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
