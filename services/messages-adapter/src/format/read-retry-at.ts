import type { UpstreamErrorAnswer } from '@gateway/adapter-kit';
import { numberIn, toFutureMs } from './header-value.ts';
import { windowResetMs } from './read-windows.ts';

type Headers = UpstreamErrorAnswer['headers'];
type AnswerHead = Pick<UpstreamErrorAnswer, 'headers' | 'nowMs'>;

export interface RateLimit {
  /** Epoch milliseconds at which the limit ends; undefined when the provider says nothing of use. */
  readonly retryAtMs: number | undefined;
  /** True when other models of the account are not limited. */
  readonly modelScoped: boolean;
}

/**
 * What the headers of an answer say of the limit that was hit: a subscription's rejected windows, else `retry-after`, else
 * an API key's used-up limits.
 *
 * @see https://platform.claude.com/docs/en/api/rate-limits#response-headers
 */
export function readRateLimit(answer: AnswerHead): RateLimit {
  const retryAfter = readRetryAfterMs(answer);
  const rejected = rejectedWindows(answer.headers);
  if (rejected.length > 0) return windowLimit(rejected, retryAfter, answer);
  const usedUp = usedUpLimits(answer.headers);
  const resets = usedUp.map((limit) => toFutureMs(Date.parse(answer.headers[`${limit}-reset`] ?? ''), answer.nowMs));
  // The limits of an API key are kept per model.
  return { retryAtMs: retryAfter ?? latest(resets), modelScoped: usedUp.length > 0 };
}

/** Epoch milliseconds that `retry-after` or `retry-after-ms` names: seconds, milliseconds or a date. */
export function readRetryAfterMs({ headers, nowMs }: AnswerHead): number | undefined {
  const milliseconds = numberIn(headers, 'retry-after-ms');
  if (milliseconds !== undefined) return toFutureMs(nowMs + milliseconds, nowMs);
  const seconds = numberIn(headers, 'retry-after');
  if (seconds !== undefined) return toFutureMs(nowMs + seconds * 1_000, nowMs);
  return toFutureMs(Date.parse(headers['retry-after'] ?? ''), nowMs);
}

const unified = 'anthropic-ratelimit-unified';

/** A window of a subscription: `5h`, `7d`, or of one model family, `7d_sonnet`. */
type Window = string;

function isOfModel(window: Window): boolean {
  return window.includes('_');
}

/** The windows that refuse requests. None as long as the subscription as a whole lets requests pass. */
function rejectedWindows(headers: Headers): readonly Window[] {
  const overall = headers[`${unified}-status`];
  if (overall !== undefined && overall !== 'rejected') return [];
  const named = Object.keys(headers)
    .filter((name) => headers[name] === 'rejected')
    .map((name) => /^anthropic-ratelimit-unified-(\d+[hd](?:_\w+)?)-status$/.exec(name)?.[1])
    .filter((window) => window !== undefined);
  if (named.length > 0 || overall === undefined) return named;
  return [claimedWindow(headers[`${unified}-representative-claim`] ?? '')];
}

/** The window behind `five_hour`, `seven_day` or `seven_day_opus`. */
function claimedWindow(claim: string): Window {
  return claim.replace('five_hour', '5h').replace('seven_day', '7d');
}

/** A window of the whole account outweighs one of a model family, which the next answer tells again. */
function windowLimit(rejected: readonly Window[], retryAfter: number | undefined, answer: AnswerHead): RateLimit {
  const ofAccount = rejected.filter((window) => !isOfModel(window));
  const binding = ofAccount.length > 0 ? ofAccount : rejected;
  const resets = binding.map((window) => windowResetMs(window, answer));
  return { retryAtMs: latest([...resets, retryAfter]), modelScoped: ofAccount.length === 0 };
}

/** A limit with something left is not the one that was hit. */
function usedUpLimits(headers: Headers): readonly string[] {
  return ['requests', 'tokens', 'input-tokens', 'output-tokens']
    .map((limit) => `anthropic-ratelimit-${limit}`)
    .filter((limit) => numberIn(headers, `${limit}-remaining`) === 0);
}

function latest(moments: readonly (number | undefined)[]): number | undefined {
  const known = moments.filter((moment) => moment !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
