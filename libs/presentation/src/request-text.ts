import { LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { AttemptResult, type SkippedAccounts } from '@gateway/proto/pool/v1/account_pb.js';
import {
  CancelReason,
  type NoAccount,
  NoAccountCause,
  type RecordedAttempt,
  RequestEnding,
  type RequestRecorded,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { accountErrorText } from './account-error-text.ts';

/** How values are formatted in a sentence, depending on where it is shown. */
export interface Wording {
  readonly moment: (atMs: number) => string;
  readonly duration: (ms: number) => string;
}

/**
 * Explains in a sentence why a request ended as it did and what helps. Empty: nothing needs
 * explaining.
 */
export function verdictText(request: RequestRecorded, wording: Wording): string {
  const { errorCode, refusal, noAccount, attempts, ending } = request;
  if (refusal !== undefined) {
    const { limit, retryAtMs } = refusal;
    // One time in one zone: that of the sentence's place, not the one in which days of limits end.
    if (retryAtMs !== undefined) return `${limitTexts[limit]} Retry at ${wording.moment(retryAtMs)} or later.`;
    return limit === LimitName.TOKENS_PER_DAY ? `${limitTexts[limit]} ${dayLimitReset}` : limitTexts[limit];
  }
  if (ending === RequestEnding.ABORTED) return 'The client disconnected before the answer was complete.';
  const last = attempts.at(-1);
  if (last?.result === AttemptResult.REJECTED && last.firstByte === undefined)
    return `${resultText(last, wording)} Another account would not help.`;
  if (isClassOnResponses(request)) return classOnResponsesText;
  if (ending !== RequestEnding.FAILED) return errorTexts[errorCode] ?? '';
  // An answer that broke off decides alone: no other account could be tried after it.
  if (last?.firstByte !== undefined) return resultText(last, wording);
  const sentences = [failuresText(attempts), noAccount === undefined ? '' : whyNoneText(noAccount, attempts, wording)];
  return sentences.filter((sentence) => sentence !== '').join(' ') || (errorTexts[errorCode] ?? '');
}

/** Why the log has no model of a request. */
export function noModelText({ times }: Pick<RequestRecorded, 'times'>): string {
  return times?.bodyRead === undefined ? 'unknown (the body was not read)' : 'none (the body names no model)';
}

function isClassOnResponses({ errorCode, endpoint, model }: RequestRecorded): boolean {
  return errorCode === 'model_not_found' && endpoint === '/v1/responses' && model.startsWith('gateway/');
}

const classOnResponsesText =
  'Model classes are not accepted on /v1/responses. The client must send the name of a model.';

/**
 * What failed at each account: "responses/team-a: 401 from the provider; messages/team-a:
 * connection refused by 10.0.0.7:443."
 */
function failuresText(attempts: readonly RecordedAttempt[]): string {
  const failed = attempts.filter(({ result, cancelReason }) => hasFailed(result) || isCancelled(cancelReason));
  const texts = [...new Set(failed.map((attempt) => `${attempt.accountId}: ${failureText(attempt)}`))];
  const left = texts.length > mostFailures ? [`${texts.length - mostFailures} more`] : [];
  return texts.length === 0 ? '' : `${[...texts.slice(0, mostFailures), ...left].join('; ')}.`;
}

const mostFailures = 4;

/** As `accountErrorText`, where that says why. */
function failureText({ result, cancelReason, upstreamStatus, cause }: RecordedAttempt): string {
  if (isCancelled(cancelReason)) return withinSentence(cancelTexts[cancelReason].slice(0, -1));
  if (cause !== '' || accountErrors.has(result)) return accountErrorText({ result, upstreamStatus, cause });
  return withinSentence(`${resultTexts[result]}${upstreamStatus === 0 ? '' : ` (${upstreamStatus})`}`);
}

/** Results whose status alone says why; the others are said in words. */
const accountErrors: ReadonlySet<AttemptResult> = new Set([
  AttemptResult.UNAUTHORIZED,
  AttemptResult.OVERLOADED,
  AttemptResult.SERVER_ERROR,
  AttemptResult.NETWORK_ERROR,
  AttemptResult.TIMEOUT,
]);

function withinSentence(sentence: string): string {
  return `${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
}

/** Why no account served a request, with the accounts that were skipped and not tried. */
function whyNoneText(noAccount: NoAccount, attempts: readonly RecordedAttempt[], wording: Wording): string {
  const skipped = skippedTexts(noAccount.skipped, attempts);
  if (!isUnexplained(noAccount) || skipped.length === 0) return noAccountText(noAccount, attempts.length, wording);
  return `${noneServedText(attempts.length)}: ${skipped.join('; ')}.`;
}

const limitTexts: Readonly<Record<LimitName, string>> = {
  [LimitName.UNSPECIFIED]: 'The token exceeded one of its limits.',
  [LimitName.REQUESTS_PER_MINUTE]: 'The token reached its limit of requests per minute.',
  [LimitName.TOKENS_PER_DAY]: 'The token reached its limit of tokens per day.',
  [LimitName.GROUP_REQUESTS_PER_MINUTE]: "The token's group reached its limit of requests per minute.",
  [LimitName.GROUP_TOKENS_PER_DAY]: "The token's group reached its limit of tokens per day.",
  [LimitName.BUDGET]: "The budget of the token's group had no room for the request.",
  [LimitName.CONCURRENCY]: 'The token or its group had as many requests running as its limit allows.',
};

const dayLimitReset = 'The limit resets at midnight in Amsterdam.';

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
  log_entry_damaged: 'The entry of the request log is damaged and cannot be read.',
};

/** Whether an account answered after another had failed. A failed request did not fail over. */
export function hasFailedOver({ attempts, ending }: Pick<RequestRecorded, 'attempts' | 'ending'>): boolean {
  return attempts.length > 1 && ending === RequestEnding.COMPLETED;
}

/** Why a request has no usage. */
export function noUsageText(request: RequestRecorded): string {
  const answerer = answererOf(request);
  if (answerer === undefined) return 'No usage: no provider was called.';
  return answerer.isAnswer
    ? 'No usage: the provider bills nothing for this answer.'
    : 'No usage: no provider answered.';
}

/** "rate_limited", "client_left", "in_progress" */
export function attemptWord({ result, cancelReason }: RecordedAttempt): string {
  if (result === AttemptResult.UNSPECIFIED && !isCancelled(cancelReason)) return 'in_progress';
  return ((isCancelled(cancelReason) ? CancelReason[cancelReason] : AttemptResult[result]) ?? 'unknown').toLowerCase();
}

/** The result of an attempt at an account. */
export function attemptResultText(attempt: RecordedAttempt, wording: Wording): string {
  const { amended } = attempt;
  const again =
    amended === '' ? '' : ` The gateway resent it without the feature that the provider rejected (${amended}).`;
  return `${resultText(attempt, wording)}${again}`;
}

function resultText(
  { result, cancelReason, upstreamStatus, retryAtMs, firstByte, cause }: RecordedAttempt,
  wording: Wording,
): string {
  if (isCancelled(cancelReason)) return cancelTexts[cancelReason];
  const isFailure = hasFailed(result);
  const isNamed = upstreamStatus < 400 && cause !== '';
  const status = upstreamStatus === 0 || !isFailure || isNamed ? '' : ` (${upstreamStatus})`;
  const broken = firstByte !== undefined && isFailure ? ' in the middle of the answer' : '';
  const until = retryAtMs === undefined ? '' : `; the account is available again at ${wording.moment(retryAtMs)}`;
  const why = cause === '' ? '' : `: ${cause}`;
  return `${resultTexts[result]}${status}${broken}${why}${until}.`;
}

function hasFailed(result: AttemptResult): boolean {
  return result !== AttemptResult.SUCCEEDED && result !== AttemptResult.UNSPECIFIED;
}

function isCancelled(reason: CancelReason): boolean {
  return reason !== CancelReason.UNSPECIFIED;
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
  [AttemptResult.REFUSED]: 'The provider did not permit the request for this account',
};

/**
 * Why no account served a request, beside a list of the skipped accounts. @param attempts how many
 * had been made before.
 */
export function noAccountText(noAccount: NoAccount, attempts: number, wording: Wording): string {
  if (isUnexplained(noAccount) && attempts > 0) return 'No other account was available.';
  return `${noneServedText(attempts)}: ${causeText(noAccount, wording)}.`;
}

function noneServedText(attempts: number): string {
  return attempts === 0 ? 'No account served it' : 'No other account served it';
}

/** Only the accounts that were tried and skipped say why. */
function isUnexplained({ cause, reason }: NoAccount): boolean {
  return reason === '' && (cause === NoAccountCause.UNAVAILABLE || cause === NoAccountCause.UNSPECIFIED);
}

function causeText({ cause, retryAtMs, reason, asked, answered }: NoAccount, { moment, duration }: Wording): string {
  switch (cause) {
    case NoAccountCause.EXHAUSTED:
      return `${reason || 'all eligible accounts are rate limited'}${retryAtMs === undefined ? '' : `, the first until ${moment(retryAtMs)}`}`;
    case NoAccountCause.UNKNOWN_MODEL:
      return 'the model does not exist, or is not available on this endpoint';
    case NoAccountCause.MODEL_NOT_ALLOWED:
      return 'the token, or its group, may not use this model';
    case NoAccountCause.BROKER_AWAY:
      return `the pool broker did not answer within ${duration(answered - asked)}`;
    default:
      return reason || 'no eligible account is available, for reasons other than limits';
  }
}

/**
 * The accounts that were skipped, without those that the request had tried, as far as names are
 * known: "2 of responses for gpt-5.5 (team-b, team-d): cooling after 429".
 */
export function skippedTexts(
  skipped: readonly SkippedAccounts[],
  tried: readonly Pick<RecordedAttempt, 'accountId'>[],
): readonly string[] {
  const triedIds = new Set(tried.map(({ accountId }) => accountId));
  return skipped.flatMap((group) => {
    const names = group.names.filter((name) => !triedIds.has(`${group.pool}/${name}`));
    const count = group.count - (group.names.length - names.length);
    return count <= 0 ? [] : [skippedText({ ...group, names, count })];
  });
}

function skippedText({ pool, model, reason, count, names }: SkippedAccounts): string {
  const more = count > names.length ? ` and ${count - names.length} more` : '';
  const named = names.length === 0 ? '' : ` (${names.join(', ')}${more})`;
  return `${count} of ${pool} for ${model}${named}: ${reason}`;
}

/**
 * The account that answered a request or, if none answered, the one that was tried last. Undefined:
 * no account was tried.
 */
export function answererOf({ attempts, ending, receivedAtMs }: RequestRecorded) {
  const answered = attempts.findLast(
    ({ result, firstByte }) => result === AttemptResult.SUCCEEDED || firstByte !== undefined,
  );
  const { accountId, model } = answered ?? attempts.at(-1) ?? { accountId: '', model: '' };
  // The ledger alone does not know results: it has usage only of what was answered, or lost.
  const isAnswer = answered !== undefined || (receivedAtMs === undefined && ending !== RequestEnding.UNSPECIFIED);
  return accountId === '' ? undefined : { label: isAnswer ? 'Answered by' : 'Last tried', isAnswer, accountId, model };
}
