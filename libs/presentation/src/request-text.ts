import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { LimitName } from '@gateway/proto/limiter/v1/limit_pb.js';
import { AttemptResult, type SkippedAccounts } from '@gateway/proto/pool/v1/account_pb.js';
import {
  CancelReason,
  type LoggedAttempt,
  type NoAccount,
  NoAccountCause,
  RequestEnding,
  type RequestLogged,
} from '@gateway/proto/usage/v1/request_log_pb.js';

/** How values are formatted in a sentence, depending on where it is shown. */
export interface Wording {
  readonly moment: (moment: Timestamp) => string;
  readonly duration: (ms: number) => string;
}

/**
 * Explains in a sentence why a request ended as it did and what helps. Empty: nothing needs
 * explaining.
 */
export function verdictText(request: RequestLogged, wording: Wording): string {
  const { errorCode, refusal, noAccount, attempts, ending } = request;
  if (refusal !== undefined) {
    const { limit, retryAt } = refusal;
    const until = retryAt === undefined ? '' : ` The same request could be admitted at ${wording.moment(retryAt)}.`;
    return `${limitTexts[limit]}${until}`;
  }
  const last = attempts.at(-1);
  if (ending === RequestEnding.ABORTED) return 'The client left before the end of the answer.';
  if (noAccount !== undefined && ending === RequestEnding.FAILED)
    return noAccountText(noAccount, attempts.length, wording);
  if (ending === RequestEnding.FAILED && last !== undefined) return resultText(last, wording);
  return errorTexts[errorCode] ?? '';
}

const limitTexts: Readonly<Record<LimitName, string>> = {
  [LimitName.UNSPECIFIED]: 'The token was over one of its limits.',
  [LimitName.REQUESTS_PER_MINUTE]: 'The token had used up its requests per minute.',
  [LimitName.TOKENS_PER_DAY]: 'The token had used up its tokens of the day, which ends at midnight in Amsterdam.',
};

const errorTexts: Readonly<Record<string, string>> = {
  invalid_request: 'The body was not what the endpoint takes. The answer named the field.',
  invalid_json: 'The body was no valid JSON.',
  invalid_body: 'The body could not be decompressed.',
  unsupported_content: 'The body had content that the endpoint does not take.',
  upstream_rejected: 'The provider would not take the request; no other account would.',
  model_not_found: 'There is no such model, or not on this endpoint.',
  body_too_large: "The body was over the endpoint's limit.",
  unsupported_encoding: 'The body was compressed in a way that the endpoint does not take.',
  rate_limit_exceeded: 'The token was over one of its limits.',
};

/** The result of an attempt at an account. */
export function attemptResultText(attempt: LoggedAttempt, wording: Wording): string {
  const { amended } = attempt;
  const again = amended === '' ? '' : ` It was sent again without what the provider refused (${amended}).`;
  return `${resultText(attempt, wording)}${again}`;
}

function resultText(
  { result, cancelReason, upstreamStatus, retryAt, firstByte }: LoggedAttempt,
  wording: Wording,
): string {
  if (cancelReason !== CancelReason.UNSPECIFIED) return cancelTexts[cancelReason];
  const isFailure = result !== AttemptResult.SUCCEEDED && result !== AttemptResult.UNSPECIFIED;
  const status = upstreamStatus === 0 || !isFailure ? '' : ` (${upstreamStatus})`;
  const broken = firstByte !== undefined && isFailure ? ' in the middle of the answer' : '';
  const until = retryAt === undefined ? '' : `; the account is free again at ${wording.moment(retryAt)}`;
  return `${resultTexts[result]}${status}${broken}${until}.`;
}

const cancelTexts: Readonly<Record<CancelReason, string>> = {
  [CancelReason.UNSPECIFIED]: '',
  [CancelReason.CLIENT_LEFT]: 'The client left.',
  [CancelReason.ADAPTER_AWAY]: 'The adapter of its format could not be reached, or was lost.',
  [CancelReason.NOT_EXPRESSIBLE]: "The pool's format can't carry what the request asks.",
  [CancelReason.CLIENT_STALLED]: 'The client took nothing of the answer for too long, and was cut off.',
  [CancelReason.TOO_LONG]: 'The answer lasted longer than the edge lets answers last.',
};

const resultTexts: Readonly<Record<AttemptResult, string>> = {
  [AttemptResult.UNSPECIFIED]: 'It had not ended',
  [AttemptResult.SUCCEEDED]: 'The provider answered',
  [AttemptResult.RATE_LIMITED]: 'The provider said that the account is limited',
  [AttemptResult.UNAUTHORIZED]: 'The provider refused the account',
  [AttemptResult.OVERLOADED]: 'The provider is overloaded',
  [AttemptResult.SERVER_ERROR]: 'The provider failed',
  [AttemptResult.NETWORK_ERROR]: 'The provider could not be reached, or the connection broke',
  [AttemptResult.TIMEOUT]: 'The provider did not answer in time',
  [AttemptResult.REJECTED]: 'The provider refused the request itself',
  [AttemptResult.CANCELLED]: 'The attempt was stopped',
  [AttemptResult.ANSWER_TOO_LARGE]: 'The answer was too large to be put together',
  [AttemptResult.MODEL_UNAVAILABLE]: 'The provider does not offer the model to the account',
  [AttemptResult.FEATURE_UNAVAILABLE]: 'The account lacks a feature that the request asks for',
};

/** Why no account took the request. @param attempts how many attempts were made before. */
export function noAccountText(noAccount: NoAccount, attempts: number, wording: Wording): string {
  return `${attempts === 0 ? 'No account took it' : 'No other account took it'}: ${causeText(noAccount, wording)}.`;
}

function causeText({ cause, retryAt, reason, asked, answered }: NoAccount, { moment, duration }: Wording): string {
  switch (cause) {
    case NoAccountCause.EXHAUSTED:
      return `all that could are limited${retryAt === undefined ? '' : `, the first of them until ${moment(retryAt)}`}`;
    case NoAccountCause.UNKNOWN_MODEL:
      return 'there is no such model, or not on this endpoint';
    case NoAccountCause.BROKER_AWAY:
      return `the broker did not answer within ${duration(answered - asked)}`;
    default:
      return reason || 'none that could is available, for other reasons than limits';
  }
}

/** "4 of responses for gpt-5.5: cooling after 429" */
export function skippedText({ pool, model, reason, count }: SkippedAccounts): string {
  return `${count} of ${pool} for ${model}: ${reason}`;
}
