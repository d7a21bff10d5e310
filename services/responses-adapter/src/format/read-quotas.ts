import {
  type AnswerTime,
  latestMs,
  numberIn,
  type QuotaAnswer,
  type QuotaWindow,
  readRetryAfterMs,
  toFutureMs,
  withLaterQuotas,
} from '@gateway/adapter-kit';
import { asNumber, asObject, asString, type JsonObject } from '@gateway/json';

type AnswerHead = Pick<QuotaAnswer, 'headers' | 'nowMs' | 'skewMs'>;

/**
 * The quotas in an answer's headers: the usage windows of a subscription (`x-codex-primary-…`,
 * `x-codex-secondary-…`, and for a model family `x-codex-<family>-primary-…`), and the limits of an
 * API key, which apply per model.
 * @see https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers
 */
export function readWindows(answer: QuotaAnswer): readonly QuotaWindow[] {
  return [...usageWindows(answer), ...keyLimits(answer)];
}

/**
 * The usage windows of a subscription. Which one is primary differs by plan, so they are identified
 * by their length.
 */
function usageWindows(answer: AnswerHead): readonly QuotaWindow[] {
  const { headers } = answer;
  return Object.keys(headers).flatMap((name) => {
    const [, window, family = '', rank = ''] =
      /^(x-codex-(?:(.+)-)?(primary|secondary)-)used-percent$/.exec(name) ?? [];
    if (window === undefined) return [];
    const read = (member: string) => numberIn(headers, window + member.replaceAll('_', '-'));
    return toWindow({ rank, family, time: answer }, read);
  });
}

/**
 * The windows in a `codex.rate_limits` event. One that belongs to a model family has its name,
 * `codex_<family>`.
 */
export function eventWindows(event: JsonObject, time: AnswerTime): readonly QuotaWindow[] {
  const limit = asString(event.metered_limit_name) ?? asString(event.limit_name) ?? '';
  const family = limit.toLowerCase().replace(/^codex(?:[_-]|$)/, '');
  return ['primary', 'secondary'].flatMap((rank) => {
    const window = asObject(asObject(event.rate_limits)?.[rank]);
    return toWindow({ rank, family, time }, (member) => asNumber(window?.[member]));
  });
}

interface WindowSubject {
  /** "primary", "secondary" */
  readonly rank: string;
  /** Empty: the whole account. */
  readonly family: string;
  readonly time: AnswerTime;
}

/** Reads a member of a window, by its name in events. */
type ReadMember = (member: string) => number | undefined;

function toWindow({ rank, family, time }: WindowSubject, read: ReadMember): readonly QuotaWindow[] {
  const usedPercent = read('used_percent');
  if (usedPercent === undefined || usedPercent < 0) return [];
  const minutes = positive(read('window_minutes'));
  const length = minutes === undefined ? rank : lengthName(minutes);
  return [
    {
      name: family === '' ? length : `${length}_${family}`,
      models: family === '' ? '' : `*${family}*`,
      usedFraction: usedPercent / 100,
      resetsAtMs: resetOf(minutes, read, time),
      lengthSeconds: Math.round((minutes ?? 0) * 60),
    },
  ];
}

/**
 * The absolute time has precedence. A window's reset is never much further away than the window's
 * length.
 */
function resetOf(minutes: number | undefined, read: ReadMember, { nowMs, skewMs = 0 }: AnswerTime): number | undefined {
  const resetAt = read('reset_at');
  const resetMs =
    resetAt !== undefined ? resetAt * 1_000 + skewMs : nowMs + (read('reset_after_seconds') ?? Number.NaN) * 1_000;
  const latestMs = minutes === undefined ? Number.POSITIVE_INFINITY : nowMs + minutes * minuteMs + slackMs(minutes);
  return toFutureMs(Math.min(resetMs, latestMs), nowMs);
}

const minuteMs = 60_000;

/** Tolerance for clocks that differ, and for windows that start with their first request. */
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
    return [
      {
        name,
        models: model,
        usedFraction: Math.max(0, 1 - remaining / limit),
        resetsAtMs: limitResetMs(name, { headers, nowMs }),
        lengthSeconds: 0,
      },
    ];
  });
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}

/** The quotas that the events of one answer report. The latest report of each quota counts. */
export class EventQuotas {
  /** Epoch milliseconds from which relative resets are counted. */
  readonly nowMs: number;
  /** From the head of the answer. */
  skewMs: number | undefined;
  windows: readonly QuotaWindow[] = [];

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  /**
   * When the last exhausted window of the whole account resets; undefined when none is exhausted.
   */
  get exhaustedUntilMs(): number | undefined {
    return latestResetMs(this.windows.filter(({ models }) => models === ''));
  }

  /** Takes a `codex.rate_limits` event. */
  add(event: JsonObject): void {
    this.windows = withLaterQuotas(this.windows, eventWindows(event, this));
  }
}

/**
 * Epoch milliseconds at which the provider allows a retry; undefined when it gives no usable time.
 * The most explicit source has precedence: the retry headers, the error body, a subscription's
 * exhausted windows, an API key's exhausted limits.
 * @see https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers
 */
export function readRetryAt(answer: AnswerHead, errorResetsAtMs: number | undefined): number | undefined {
  return (
    readRetryAfterMs(answer) ?? errorResetsAtMs ?? latestResetMs(usageWindows(answer)) ?? exhaustedLimitsResetMs(answer)
  );
}

/**
 * When the last exhausted window of the whole account of a subscription resets; undefined when none
 * is exhausted.
 */
export function exhaustedWindowsResetMs(answer: AnswerHead): number | undefined {
  return latestResetMs(usageWindows(answer).filter(({ models }) => models === ''));
}

function latestResetMs(windows: readonly QuotaWindow[]): number | undefined {
  return latestMs(windows.filter(({ usedFraction }) => usedFraction >= 1).map(({ resetsAtMs }) => resetsAtMs));
}

/**
 * Whether the headers show a limit of the account that is reached: a window, or a limit of its key.
 */
export function isLimitReached(answer: AnswerHead): boolean {
  const isSpent = ({ usedFraction }: QuotaWindow) => usedFraction >= 1;
  const remaining = ['requests', 'tokens'].map((limit) => numberIn(answer.headers, `x-ratelimit-remaining-${limit}`));
  return usageWindows(answer).some(isSpent) || remaining.some((left) => left !== undefined && left <= 0);
}

/** A limit with something left is not the one that was reached. */
function exhaustedLimitsResetMs(answer: AnswerHead): number | undefined {
  const limits = ['requests', 'tokens'];
  const usedUp = limits.filter((limit) => (numberIn(answer.headers, `x-ratelimit-remaining-${limit}`) ?? 0) <= 0);
  return latestMs(usedUp.map((limit) => limitResetMs(limit, answer)));
}

function limitResetMs(limit: string, { headers, nowMs }: AnswerHead): number | undefined {
  const resetMs = durationMs(headers[`x-ratelimit-reset-${limit}`] ?? '');
  return resetMs === undefined ? undefined : toFutureMs(nowMs + resetMs, nowMs);
}

/** A duration in Go's notation: `12ms`, `1s`, `6m0s`, `7h49m35s`. */
function durationMs(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|h|m|s))+$/.test(text)) return undefined;
  const parts = text.matchAll(/(?<![\d.])(\d+(?:\.\d+)?)(ms|h|m|s)/g);
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (unitMs[unit ?? ''] ?? 0), 0);
}

const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
