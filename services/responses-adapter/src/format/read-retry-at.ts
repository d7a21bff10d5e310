import type { UpstreamErrorAnswer } from '@gateway/adapter-kit';
import { durationMs, numberIn } from './header-value.ts';
import { type ProviderError, toFutureMs } from './provider-error.ts';
import { usageWindows } from './read-windows.ts';

type AnswerHead = Pick<UpstreamErrorAnswer, 'headers' | 'nowMs'>;

/**
 * Epoch milliseconds at which the provider says to come back; undefined when it says nothing of use. The plainest
 * statement wins: the retry headers, the error body, a subscription's used-up windows, an API key's used-up limits.
 * @see https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers
 */
export function readRetryAt(answer: AnswerHead, error: ProviderError): number | undefined {
  return retryAfterMs(answer) ?? error.resetsAtMs ?? usedUpWindowsResetMs(answer) ?? exhaustedLimitsResetMs(answer);
}

/** When the last of a subscription's used-up windows resets that hold for the whole account; undefined when none is used up. */
export function exhaustedWindowsResetMs(answer: AnswerHead): number | undefined {
  return latest(usedUpWindows(answer).flatMap(({ models, resetsAtMs }) => (models === '' ? [resetsAtMs] : [])));
}

/** The same, with the windows of model families. */
function usedUpWindowsResetMs(answer: AnswerHead): number | undefined {
  return latest(usedUpWindows(answer).map(({ resetsAtMs }) => resetsAtMs));
}

function usedUpWindows(answer: AnswerHead) {
  return usageWindows(answer).filter(({ usedFraction }) => usedFraction >= 1);
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
    .map((limit) => durationMs(headers[`x-ratelimit-reset-${limit}`] ?? ''))
    .map((resetMs) => (resetMs === undefined ? undefined : toFutureMs(nowMs + resetMs, nowMs)));
  return latest(resets);
}

function latest(moments: readonly (number | undefined)[]): number | undefined {
  const known = moments.filter((moment) => moment !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
