import {
  type AnswerTime,
  type AttemptFailure,
  accountTexts,
  closerRejections,
  type ErrorMeaning,
  fromProviderMs,
  meaningOfStatus,
  meaningOfText,
  type StatusRule,
  type StatusRules,
  type TextMeaning,
  toAttemptFailure,
  toFutureMs,
  type UpstreamErrorAnswer,
} from '@gateway/adapter-kit';
import { asNumber, asObject, asString, type JsonObject, parseJson } from '@gateway/json';
import { meaningOfCode } from './error-codes.ts';
import { type EventQuotas, exhaustedWindowsResetMs, isLimitReached, readRetryAt } from './read-quotas.ts';

/**
 * The meaning of an answer with an error status: that of the status, unless the error's code is
 * more specific.
 * @see https://platform.openai.com/docs/guides/error-codes
 */
export function mapUpstreamError(answer: UpstreamErrorAnswer): AttemptFailure {
  const error = readProviderError(parseJson(new TextDecoder().decode(answer.body)), answer);
  const meaning = meaningOfStatus(answer, statusRules, meaningOf(error, 'rejected'));
  // A subscription's window applies to the account, whatever the code says.
  const isOfAccount = meaning === 'model_limited' && exhaustedWindowsResetMs(answer) !== undefined;
  return toAttemptFailure({
    meaning: isOfAccount ? 'limited' : meaning,
    upstreamStatus: answer.status,
    names: error,
    retryAtMs: readRetryAt(answer, error.resetsAtMs),
    isLimitOfAccount:
      isOfAccount || isLimitReached(answer) || error.codes.some((code) => code === 'usage_limit_reached'),
  });
}

/**
 * The meaning of an error inside a stream, in `response.failed` or an `error` event. An unknown or
 * missing code is the provider's fault.
 * @param holder contains the error, flat or nested
 * @param limits from the rate-limit events of the same stream
 */
export function mapStreamError(holder: unknown, quotas: StreamQuotas): AttemptFailure {
  const { exhaustedUntilMs } = quotas;
  const error = readProviderError(holder, quotas);
  const meaning = meaningOf(error) ?? 'server_error';
  return toAttemptFailure({
    meaning: meaning === 'model_limited' && exhaustedUntilMs !== undefined ? 'limited' : meaning,
    upstreamStatus: 0,
    names: error,
    retryAtMs: error.resetsAtMs ?? exhaustedUntilMs,
    isLimitOfAccount: exhaustedUntilMs !== undefined || meaning === 'limited',
  });
}

type StreamQuotas = AnswerTime & Pick<EventQuotas, 'exhaustedUntilMs'>;

/** What a person must solve, whatever the status. */
const ofAccount = ['refused_account', 'no_credit', 'revoked_credential', 'disabled_account'] as const;

/** What may be wrong with the request itself. */
const ofRequest = [...closerRejections, 'unavailable_choice'] as const;

/** What may be wrong besides the request itself, although the status blames the request. */
const rejectedRule: StatusRule = ['rejected', ...ofRequest, 'unknown_model', 'limited', 'refused', ...ofAccount];

/**
 * The meaning of each error status. A test keeps docs/reference/provider-errors.md in step with it.
 */
export const statusRules: StatusRules = {
  byStatus: new Map<number, StatusRule>([
    [400, rejectedRule],
    [401, ofAccount],
    // Whether it is the account that is refused, or what the request chose, often only a code says.
    [402, ['refused', 'unavailable_choice', 'limited', ...ofAccount]],
    // A project without access to a model is also refused with 403.
    [403, ['refused', ...ofRequest, 'unknown_model', 'network', 'limited', ...ofAccount]],
    // Something that the request refers to may no longer exist: an item, an answer or a file.
    [404, [...rejectedRule, 'network']],
    // A proxy on the way requires authentication.
    [407, ['network']],
    [408, ['timeout']],
    [409, ['conflict', ...closerRejections]],
    [410, ['unknown_model', ...closerRejections]],
    [413, ['too_large', ...closerRejections, 'limited', ...ofAccount]],
    [422, rejectedRule],
    [429, ['limited', 'model_limited', ...ofRequest, 'unknown_model', 'overloaded', ...ofAccount]],
    [529, ['overloaded', 'unavailable_choice', 'limited', 'model_limited']],
  ]),
  otherClientError: rejectedRule,
  otherServerError: ['server_error', 'overloaded', 'unavailable_choice', 'limited', 'model_limited'],
};

/**
 * An error object of the provider, in an error body or an event. Its text does not leave this file.
 */
interface ProviderError {
  /**
   * `code` and `type`, in this order, if present: which of them is more specific differs by
   * backend.
   */
  readonly codes: readonly string[];
  readonly code: string | undefined;
  readonly type: string | undefined;
  /** Empty: none. */
  readonly text: string;
  /** The part of the request that the error concerns; undefined when it names none. */
  readonly param: string | undefined;
  /** Epoch milliseconds at which the limit ends; undefined when absent. */
  readonly resetsAtMs: number | undefined;
}

/**
 * The error in a JSON value: `{error: {…}}`, a subscription backend's `{detail: "…"}` or
 * `{detail: {…}}`, or the members themselves. A value without one gives an error without codes and
 * text.
 */
export function readProviderError(value: unknown, time: AnswerTime): ProviderError {
  const holder = asObject(value) ?? {};
  const error = asObject(holder.error) ?? asObject(holder.detail) ?? holder;
  const code = asString(error.code);
  const type = asString(error.type);
  const codes = [code, type].filter((each) => each !== undefined);
  const text = asString(error.message) ?? asString(holder.detail) ?? '';
  return { codes, code, type, text, param: asString(error.param), resetsAtMs: readReset(error, time) };
}

/**
 * The meaning of an error by its codes, or else by its text; undefined when the value contained no
 * error.
 * @param uncoded the meaning of an error with unknown codes
 */
function meaningOf({ codes, text, param }: ProviderError, uncoded?: ErrorMeaning): ErrorMeaning | undefined {
  const known = codes.map(meaningOfCode).find((meaning) => meaning !== undefined);
  const coded = known ?? (codes.length > 0 || text !== '' ? uncoded : undefined);
  // A model other than the request's own, such as a tool's.
  if (coded === 'unknown_model' && param !== undefined && param !== 'model') return 'rejected';
  return meaningOfText(coded, text, textMeanings);
}

/** Errors that only their text distinguishes, mostly those of a subscription backend. */
export const textMeanings: readonly TextMeaning[] = [
  {
    of: ['rejected'],
    text: /^the '[^'\n]{1,200}' model is not supported when using [^\n]{1,80} with (?:an?|this|your) (?:\w+ )?account/i,
    means: 'unknown_model',
  },
  { of: ['rejected'], text: /^the '[^'\n]{1,200}' model requires a newer version of /i, means: 'unknown_model' },
  { of: ['rejected'], text: /^the model [`'"][^`'"\n]{1,200}[`'"] does not exist/i, means: 'unknown_model' },
  // An address without an API behind it.
  { of: ['rejected'], text: /^(?:invalid url\b|not found\.?$)/i, means: 'network' },
  // The gateway always streams, so such an account does not have the model.
  { of: ['rejected'], text: /^your organization must be verified to (?:stream|use) /i, means: 'unknown_model' },
  { of: ['rejected'], text: /^your organization must be verified to /i, means: 'unavailable_choice' },
  {
    of: ['rejected'],
    text: /^invalid service_tier argument: the requested service tier is not allowed /i,
    means: 'unavailable_choice',
  },
  // The request alone exceeds the account's limit per minute: waiting does not help.
  { of: ['model_limited'], text: /^request too large for /i, means: 'too_large' },
  { of: ['rejected'], text: /^you(?:['’]ve| have) (?:hit|reached) your usage limit/i, means: 'limited' },
  ...accountTexts,
];

function readReset(error: JsonObject, time: AnswerTime): number | undefined {
  const { nowMs } = time;
  const resetsAtSeconds = asNumber(error.resets_at);
  if (resetsAtSeconds !== undefined) return fromProviderMs(resetsAtSeconds * 1_000, time);
  const resetsInSeconds = asNumber(error.resets_in_seconds);
  return resetsInSeconds === undefined ? undefined : toFutureMs(nowMs + resetsInSeconds * 1_000, nowMs);
}
