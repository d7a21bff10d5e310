import type { QuotaAnswer, QuotaWindow } from '@gateway/adapter-kit';
import { numberIn, toFutureMs } from './header-value.ts';

/**
 * The quotas that an answer's headers tell of: the usage windows of a subscription, and the limits of an API key, which are
 * kept per model.
 * @see https://platform.claude.com/docs/en/api/rate-limits#response-headers
 */
export function readWindows(answer: QuotaAnswer): readonly QuotaWindow[] {
  return tellsOfLimits(answer.headers) ? [...usageWindows(answer), ...keyLimits(answer)] : none;
}

const none: readonly QuotaWindow[] = [];

function tellsOfLimits(headers: QuotaAnswer['headers']): boolean {
  for (const name in headers) if (name.startsWith('anthropic-ratelimit-')) return true;
  return false;
}

const unified = 'anthropic-ratelimit-unified';

/** The windows that the headers name a status or an amount of: `5h`, `7d`, or of one model family, `7d_opus`. */
function usageWindows({ headers, nowMs }: QuotaAnswer): readonly QuotaWindow[] {
  const named = Object.keys(headers).flatMap((name) => windowHeader.exec(name)?.[1] ?? []);
  return [...new Set(named)].flatMap((name) => {
    const usedFraction = usedFractionOf(name, headers);
    if (usedFraction === undefined) return [];
    const [length = '', family] = name.split('_', 2);
    return [
      {
        name,
        models: family === undefined ? '' : `*${family}*`,
        usedFraction,
        resetsAtMs: windowResetMs(name, { headers, nowMs }),
        lengthSeconds: secondsOf(length),
      },
    ];
  });
}

const windowHeader = /^anthropic-ratelimit-unified-(\d+[hd](?:_\w+)?)-(?:status|utilization)$/;

/**
 * A window that refuses is used up, however it is rounded, unless the subscription as a whole lets requests pass. Without an
 * amount, one that is open tells nothing.
 */
function usedFractionOf(window: string, headers: QuotaAnswer['headers']): number | undefined {
  const used = numberIn(headers, `${unified}-${window}-utilization`);
  const status = headers[`${unified}-${window}-status`];
  const overall = headers[`${unified}-status`];
  if (status === 'rejected' && (overall ?? status) === 'rejected') return Math.max(1, used ?? 1);
  if (status === 'rejected') return fullest;
  if (used === undefined || used < 0) return undefined;
  return status === undefined ? used : Math.min(used, fullest);
}

/** As much as a window that still lets requests pass can be used. */
const fullest = 0.999;

/** When a window of a subscription begins anew; undefined when the headers don't say. Never much later than it is long. */
export function windowResetMs(
  window: string,
  { headers, nowMs }: Pick<QuotaAnswer, 'headers' | 'nowMs'>,
): number | undefined {
  const reset = numberIn(headers, `${unified}-${window}-reset`) ?? numberIn(headers, `${unified}-reset`);
  if (reset === undefined) return undefined;
  // Unix seconds; numbers that would lie thousands of years ahead are milliseconds.
  const resetMs = toFutureMs(reset > 1e11 ? reset : reset * 1_000, nowMs);
  const longestMs = window.startsWith('5h') ? 6 * hourMs : 8 * 24 * hourMs;
  return resetMs === undefined ? undefined : Math.min(resetMs, nowMs + longestMs);
}

const hourMs = 3_600_000;

function secondsOf(length: string): number | undefined {
  const [, amount, unit] = /^(\d+)([hd])$/.exec(length) ?? [];
  if (amount === undefined) return undefined;
  return Number(amount) * (unit === 'h' ? 3_600 : 86_400);
}

function keyLimits({ headers, model, nowMs }: QuotaAnswer): readonly QuotaWindow[] {
  return ['requests', 'tokens', 'input-tokens', 'output-tokens'].flatMap((name) => {
    const limit = numberIn(headers, `anthropic-ratelimit-${name}-limit`);
    const remaining = numberIn(headers, `anthropic-ratelimit-${name}-remaining`);
    if (limit === undefined || limit <= 0 || remaining === undefined) return [];
    const resetsAtMs = toFutureMs(Date.parse(headers[`anthropic-ratelimit-${name}-reset`] ?? ''), nowMs);
    const usedFraction = Math.max(0, 1 - remaining / limit);
    return [{ name, models: model, usedFraction, resetsAtMs, lengthSeconds: undefined }];
  });
}
