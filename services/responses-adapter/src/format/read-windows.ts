import type { QuotaAnswer, QuotaWindow } from '@gateway/adapter-kit';
import { asNumber, asObject, asString, type JsonObject } from '@gateway/json';
import { durationMs, numberIn } from './header-value.ts';
import { toFutureMs } from './provider-error.ts';

/**
 * The quotas that an answer's headers tell of: the usage windows of a subscription (`x-codex-primary-…`,
 * `x-codex-secondary-…`, and the same of a model family, `x-codex-<family>-primary-…`), and the limits of an API key, which
 * are kept per model.
 * @see https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers
 */
export function readWindows(answer: QuotaAnswer): readonly QuotaWindow[] {
  return tellsOfLimits(answer.headers) ? [...usageWindows(answer), ...keyLimits(answer)] : none;
}

const none: readonly QuotaWindow[] = [];

function tellsOfLimits(headers: QuotaAnswer['headers']): boolean {
  for (const name in headers) if (name.startsWith('x-codex-') || name.startsWith('x-ratelimit-')) return true;
  return false;
}

type AnswerHead = Pick<QuotaAnswer, 'headers' | 'nowMs'>;

/** The usage windows of a subscription. Which of them is the primary one differs by plan: they are told apart by length. */
export function usageWindows({ headers, nowMs }: AnswerHead): readonly QuotaWindow[] {
  return Object.keys(headers).flatMap((name) => {
    const [, window, family = '', rank = ''] =
      /^(x-codex-(?:(.+)-)?(primary|secondary)-)used-percent$/.exec(name) ?? [];
    if (window === undefined) return [];
    const told = {
      usedPercent: numberIn(headers, name),
      minutes: numberIn(headers, `${window}window-minutes`),
      resetAtSeconds: numberIn(headers, `${window}reset-at`),
      resetAfterSeconds: numberIn(headers, `${window}reset-after-seconds`),
    };
    return toWindow({ rank, family, ...told }, nowMs);
  });
}

/** The same of a `codex.rate_limits` event. One that is of a model family has its name, `codex_<family>`. */
export function eventWindows(event: JsonObject, nowMs: number): readonly QuotaWindow[] {
  const limit = asString(event.metered_limit_name) ?? asString(event.limit_name) ?? '';
  const family = limit.toLowerCase().replace(/^codex(?:[_-]|$)/, '');
  return ['primary', 'secondary'].flatMap((rank) => {
    const window = asObject(asObject(event.rate_limits)?.[rank]);
    const told = {
      usedPercent: asNumber(window?.used_percent),
      minutes: asNumber(window?.window_minutes),
      resetAtSeconds: asNumber(window?.reset_at),
      resetAfterSeconds: asNumber(window?.reset_after_seconds),
    };
    return toWindow({ rank, family, ...told }, nowMs);
  });
}

interface ToldWindow {
  /** "primary", "secondary" */
  readonly rank: string;
  /** Empty: the whole account. */
  readonly family: string;
  readonly usedPercent: number | undefined;
  readonly minutes: number | undefined;
  readonly resetAtSeconds: number | undefined;
  readonly resetAfterSeconds: number | undefined;
}

function toWindow(told: ToldWindow, nowMs: number): readonly QuotaWindow[] {
  const { rank, family, usedPercent } = told;
  if (usedPercent === undefined || usedPercent < 0) return [];
  const minutes = positive(told.minutes);
  const length = minutes === undefined ? rank : lengthName(minutes);
  return [
    {
      name: family === '' ? length : `${length}_${family}`,
      models: family === '' ? '' : `*${family}*`,
      usedFraction: usedPercent / 100,
      resetsAtMs: resetOf({ ...told, minutes }, nowMs),
      lengthSeconds: minutes === undefined ? undefined : Math.round(minutes * 60),
    },
  ];
}

/** The absolute moment wins. A window can't begin anew much later than it is long. */
function resetOf({ minutes, resetAtSeconds, resetAfterSeconds }: ToldWindow, nowMs: number): number | undefined {
  const resetMs =
    resetAtSeconds !== undefined ? resetAtSeconds * 1_000 : nowMs + (resetAfterSeconds ?? Number.NaN) * 1_000;
  const latestMs = minutes === undefined ? Number.POSITIVE_INFINITY : nowMs + minutes * minuteMs + slackMs(minutes);
  return toFutureMs(Math.min(resetMs, latestMs), nowMs);
}

const minuteMs = 60_000;

/** For clocks that differ and windows that begin with their first request. */
function slackMs(minutes: number): number {
  return Math.max(minuteMs, minutes * minuteMs * 0.15);
}

/** "5h", "7d", "90m". */
function lengthName(minutes: number): string {
  const whole = Math.round(minutes);
  if (whole % 1_440 === 0) return `${whole / 1_440}d`;
  return whole % 60 === 0 ? `${whole / 60}h` : `${whole}m`;
}

function keyLimits({ headers, model, nowMs }: QuotaAnswer): readonly QuotaWindow[] {
  return ['requests', 'tokens'].flatMap((name) => {
    const limit = positive(numberIn(headers, `x-ratelimit-limit-${name}`));
    const remaining = numberIn(headers, `x-ratelimit-remaining-${name}`);
    if (limit === undefined || remaining === undefined) return [];
    const resetMs = durationMs(headers[`x-ratelimit-reset-${name}`] ?? '');
    return [
      {
        name,
        models: model,
        usedFraction: Math.max(0, 1 - remaining / limit),
        resetsAtMs: resetMs === undefined ? undefined : toFutureMs(nowMs + resetMs, nowMs),
        lengthSeconds: undefined,
      },
    ];
  });
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}
