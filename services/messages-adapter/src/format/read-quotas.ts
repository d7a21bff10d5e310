import {
  fromProviderMs,
  latestMs,
  numberIn,
  type QuotaAnswer,
  type QuotaWindow,
  readRetryAfterMs,
} from '@gateway/adapter-kit';

type AnswerHead = Pick<QuotaAnswer, 'headers' | 'nowMs' | 'skewMs'>;
type Headers = AnswerHead['headers'];

/**
 * The quotas in an answer's headers: the usage windows of a subscription, and the limits of an API
 * key, which apply per model.
 * @see https://platform.claude.com/docs/en/api/rate-limits#response-headers
 */
export function readWindows(answer: QuotaAnswer): readonly QuotaWindow[] {
  return [...usageWindows(answer), ...keyLimits(answer)];
}

const unified = 'anthropic-ratelimit-unified';

/**
 * The windows for which the headers contain a status or an amount: `5h`, `7d` or, for one model
 * family, `7d_opus`.
 */
function usageWindows(answer: QuotaAnswer): readonly QuotaWindow[] {
  const { headers } = answer;
  return windowNames(headers).flatMap((name) => {
    const usedFraction = usedFractionOf(name, headers);
    if (usedFraction === undefined) return [];
    const [length = '', family] = name.split('_', 2);
    return [
      {
        name,
        models: family === undefined ? '' : `*${family}*`,
        usedFraction,
        resetsAtMs: windowResetMs(name, answer),
        lengthSeconds: secondsOf(length),
      },
    ];
  });
}

function windowNames(headers: Headers): readonly string[] {
  const windowHeader = /^anthropic-ratelimit-unified-(\d+[hd](?:_\w+)?)-(?:status|utilization)$/;
  return [...new Set(Object.keys(headers).flatMap((name) => windowHeader.exec(name)?.[1] ?? []))];
}

/**
 * A window that refuses requests is exhausted, however it is rounded, unless the subscription as a
 * whole accepts requests. An open window without an amount is not reported.
 */
function usedFractionOf(window: string, headers: Headers): number | undefined {
  const used = numberIn(headers, `${unified}-${window}-utilization`);
  const status = headers[`${unified}-${window}-status`];
  const overall = headers[`${unified}-status`];
  if (status === 'rejected' && (overall ?? status) === 'rejected') return Math.max(1, used ?? 1);
  if (status === 'rejected') return fullest;
  if (used === undefined || used < 0) return undefined;
  return status === undefined ? used : Math.min(used, fullest);
}

/** The highest used share of a window that still accepts requests. */
const fullest = 0.999;

/**
 * When a window of a subscription resets; undefined when the headers do not say. Never much later
 * than its length.
 */
function windowResetMs(window: string, answer: AnswerHead): number | undefined {
  const { headers, nowMs } = answer;
  const reset = numberIn(headers, `${unified}-${window}-reset`) ?? numberIn(headers, `${unified}-reset`);
  if (reset === undefined) return undefined;
  // Unix seconds; numbers that would lie thousands of years ahead are milliseconds.
  const resetMs = fromProviderMs(reset > 1e11 ? reset : reset * 1_000, answer);
  const longestMs = window.startsWith('5h') ? 6 * hourMs : 8 * 24 * hourMs;
  return resetMs === undefined ? undefined : Math.min(resetMs, nowMs + longestMs);
}

const hourMs = 3_600_000;

/** 0: unknown. */
function secondsOf(length: string): number {
  const [, amount, unit] = /^(\d+)([hd])$/.exec(length) ?? [];
  if (amount === undefined) return 0;
  return Number(amount) * (unit === 'h' ? 3_600 : 86_400);
}

const keyLimitNames = ['requests', 'tokens', 'input-tokens', 'output-tokens'];

function keyLimits(answer: QuotaAnswer): readonly QuotaWindow[] {
  const { headers, model } = answer;
  return keyLimitNames.flatMap((name) => {
    const limit = numberIn(headers, `anthropic-ratelimit-${name}-limit`);
    const remaining = numberIn(headers, `anthropic-ratelimit-${name}-remaining`);
    if (limit === undefined || limit <= 0 || remaining === undefined) return [];
    const resetsAtMs = fromProviderMs(Date.parse(headers[`anthropic-ratelimit-${name}-reset`] ?? ''), answer);
    const usedFraction = Math.max(0, 1 - remaining / limit);
    return [{ name, models: model, usedFraction, resetsAtMs, lengthSeconds: 0 }];
  });
}

interface RateLimit {
  /**
   * Epoch milliseconds at which the limit ends; undefined when the provider gives no usable time.
   */
  readonly retryAtMs: number | undefined;
  /** True when other models of the account are not limited. */
  readonly modelScoped: boolean;
  /** True when the headers show a limit of the account that is reached. */
  readonly isReached: boolean;
}

/**
 * What the headers of an answer report about the limit that was reached: a subscription's rejected
 * windows, otherwise `retry-after`, otherwise an API key's exhausted limits.
 *
 * @see https://platform.claude.com/docs/en/api/rate-limits#response-headers
 */
export function readRateLimit(answer: AnswerHead): RateLimit {
  const retryAfter = readRetryAfterMs(answer);
  const rejected = rejectedWindows(answer.headers);
  if (rejected.length > 0) return windowLimit(rejected, retryAfter, answer);
  const usedUp = usedUpLimits(answer.headers);
  const resets = usedUp.map((limit) => fromProviderMs(Date.parse(answer.headers[`${limit}-reset`] ?? ''), answer));
  // The limits of an API key apply per model.
  return { retryAtMs: retryAfter ?? latestMs(resets), modelScoped: usedUp.length > 0, isReached: usedUp.length > 0 };
}

/** The windows that refuse requests. None while the subscription as a whole accepts requests. */
function rejectedWindows(headers: Headers): readonly string[] {
  const overall = headers[`${unified}-status`];
  if (overall !== undefined && overall !== 'rejected') return [];
  const named = windowNames(headers).filter((name) => headers[`${unified}-${name}-status`] === 'rejected');
  if (named.length > 0 || overall === undefined) return named;
  // `five_hour`, `seven_day` or `seven_day_opus`.
  const claim = headers[`${unified}-representative-claim`] ?? '';
  return [claim.replace('five_hour', '5h').replace('seven_day', '7d')];
}

/**
 * A window of the whole account has precedence over one of a model family, which the next answer
 * reports again.
 */
function windowLimit(rejected: readonly string[], retryAfter: number | undefined, answer: AnswerHead): RateLimit {
  const ofAccount = rejected.filter((window) => !window.includes('_'));
  const binding = ofAccount.length > 0 ? ofAccount : rejected;
  const resets = binding.map((window) => windowResetMs(window, answer));
  return { retryAtMs: latestMs([...resets, retryAfter]), modelScoped: ofAccount.length === 0, isReached: true };
}

/** A limit with something left is not the one that was reached. */
function usedUpLimits(headers: Headers): readonly string[] {
  return keyLimitNames
    .map((limit) => `anthropic-ratelimit-${limit}`)
    .filter((limit) => numberIn(headers, `${limit}-remaining`) === 0);
}
