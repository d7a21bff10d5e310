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
import { LedgerOutcome, type UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';

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
    const until = retryAt === undefined ? '' : ` Retry at ${wording.moment(retryAt)} or later.`;
    return `${limitTexts[limit]}${until}`;
  }
  const last = attempts.at(-1);
  if (ending === RequestEnding.ABORTED) return 'The client disconnected before the answer was complete.';
  if (noAccount !== undefined && ending === RequestEnding.FAILED)
    return noAccountText(noAccount, attempts.length, wording);
  if (ending === RequestEnding.FAILED && last !== undefined) return resultText(last, wording);
  return errorTexts[errorCode] ?? '';
}

const limitTexts: Readonly<Record<LimitName, string>> = {
  [LimitName.UNSPECIFIED]: 'The token exceeded one of its limits.',
  [LimitName.REQUESTS_PER_MINUTE]: 'The token reached its limit of requests per minute.',
  [LimitName.TOKENS_PER_DAY]: 'The token reached its limit of tokens per day, which resets at midnight in Amsterdam.',
};

const errorTexts: Readonly<Record<string, string>> = {
  invalid_request: 'The body did not match the schema of the endpoint. The error message names the field.',
  invalid_json: 'The body was not valid JSON.',
  invalid_body: 'The body could not be decoded, or is incomplete.',
  unsupported_content: 'The body contained content that the endpoint does not support.',
  upstream_rejected: 'The provider rejected the request. Another account would not help.',
  model_not_found: 'The model does not exist, or is not available on this endpoint.',
  body_too_large: 'The body exceeded the size limit of the endpoint.',
  unsupported_encoding: 'The endpoint does not support the content-encoding of the body.',
  rate_limit_exceeded: 'The token exceeded one of its limits.',
};

/** Whether an account answered after another had failed. A failed request did not fail over. */
export function hasFailedOver({ moved, ending }: Pick<RequestLogged, 'moved' | 'ending'>): boolean {
  return moved && ending === RequestEnding.COMPLETED;
}

/** Why a request has no usage. @param request undefined if the log no longer has it. */
export function noUsageText(request: Pick<RequestLogged, 'attempts'> | undefined): string {
  if (request === undefined) return 'No usage: the ledger has none for this request.';
  if (request.attempts.length === 0) return 'No usage: no provider was called.';
  const isAnswered = answererOf(request, undefined)?.label === 'Answered by';
  return isAnswered
    ? 'No usage: the ledger does not have it yet, or no longer keeps requests of that day.'
    : 'No usage: no provider answered.';
}

/** The result of an attempt at an account. */
export function attemptResultText(attempt: LoggedAttempt, wording: Wording): string {
  const { amended } = attempt;
  const again =
    amended === '' ? '' : ` The gateway resent it without the feature that the provider rejected (${amended}).`;
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
  const until = retryAt === undefined ? '' : `; the account is available again at ${wording.moment(retryAt)}`;
  return `${resultTexts[result]}${status}${broken}${until}.`;
}

const cancelTexts: Readonly<Record<CancelReason, string>> = {
  [CancelReason.UNSPECIFIED]: '',
  [CancelReason.CLIENT_LEFT]: 'The client disconnected.',
  [CancelReason.ADAPTER_AWAY]: 'The adapter was unreachable, or the connection to it broke.',
  [CancelReason.NOT_EXPRESSIBLE]: 'The format of the pool cannot express the request.',
  [CancelReason.CLIENT_STALLED]: 'The client stopped reading the answer and was disconnected.',
  [CancelReason.TOO_LONG]: 'The answer exceeded the maximum stream duration.',
};

const resultTexts: Readonly<Record<AttemptResult, string>> = {
  [AttemptResult.UNSPECIFIED]: 'In progress',
  [AttemptResult.SUCCEEDED]: 'The provider answered',
  [AttemptResult.RATE_LIMITED]: 'The provider rate limited the account',
  [AttemptResult.UNAUTHORIZED]: 'The provider rejected the account',
  [AttemptResult.OVERLOADED]: 'The provider was overloaded',
  [AttemptResult.SERVER_ERROR]: 'The provider returned a server error',
  [AttemptResult.NETWORK_ERROR]: 'The provider was unreachable, or the connection broke',
  [AttemptResult.TIMEOUT]: 'The provider timed out',
  [AttemptResult.REJECTED]: 'The provider rejected the request',
  [AttemptResult.CANCELLED]: 'The attempt was cancelled',
  [AttemptResult.ANSWER_TOO_LARGE]: 'The answer was too large to buffer',
  [AttemptResult.MODEL_UNAVAILABLE]: 'The provider does not offer the model to this account',
  [AttemptResult.FEATURE_UNAVAILABLE]: 'The account lacks a feature that the request needs',
};

/** Why no account served a request. @param attempts how many had been made before. */
export function noAccountText(noAccount: NoAccount, attempts: number, wording: Wording): string {
  return `${attempts === 0 ? 'No account served it' : 'No other account served it'}: ${causeText(noAccount, wording)}.`;
}

function causeText({ cause, retryAt, reason, asked, answered }: NoAccount, { moment, duration }: Wording): string {
  switch (cause) {
    case NoAccountCause.EXHAUSTED:
      return `${reason || 'all eligible accounts are rate limited'}${retryAt === undefined ? '' : `, the first until ${moment(retryAt)}`}`;
    case NoAccountCause.UNKNOWN_MODEL:
      return 'the model does not exist, or is not available on this endpoint';
    case NoAccountCause.BROKER_AWAY:
      return `the pool broker did not answer within ${duration(answered - asked)}`;
    default:
      return reason || 'no eligible account is available, for reasons other than limits';
  }
}

/** "2 of responses for gpt-5.5 (team-b, team-d): cooling after 429" */
export function skippedText({ pool, model, reason, count, names }: SkippedAccounts): string {
  const more = count > names.length ? ` and ${count - names.length} more` : '';
  const named = names.length === 0 ? '' : ` (${names.join(', ')}${more})`;
  return `${count} of ${pool} for ${model}${named}: ${reason}`;
}

/**
 * The account that answered a request or, if none answered, the one that was tried last. Undefined:
 * no account was tried. @param recorded by the ledger, if the log no longer has the request.
 */
export function answererOf(
  request: Pick<RequestLogged, 'attempts'> | undefined,
  recorded: Pick<UsageRecorded, 'accountId' | 'model' | 'outcome'> | undefined,
): { readonly label: string; readonly accountId: string; readonly model: string } | undefined {
  const attempts = request?.attempts ?? [];
  const answered = attempts.findLast(
    ({ result, firstByte }) => result === AttemptResult.SUCCEEDED || firstByte !== undefined,
  );
  const isAnswer = request === undefined ? recorded !== undefined && !unanswered.has(recorded.outcome) : answered;
  const { accountId, model } = answered ?? attempts.at(-1) ?? recorded ?? { accountId: '', model: '' };
  return accountId === '' ? undefined : { label: isAnswer ? 'Answered by' : 'Last tried', accountId, model };
}

const unanswered: ReadonlySet<LedgerOutcome> = new Set([LedgerOutcome.LOST, LedgerOutcome.GIVEN_UP]);
