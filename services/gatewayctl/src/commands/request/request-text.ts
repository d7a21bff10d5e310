import { AttemptResult, type SkippedAccounts } from '@gateway/proto/pool/v1/account_pb.js';
import {
  AttemptGivenUp,
  type LoggedAttempt,
  type NoAccount,
  NoAccountCause,
  RequestEnding,
  type RequestLogged,
} from '@gateway/proto/usage/v1/request_log_pb.js';
import { Outcome, type UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { type Cell, type Columns, factSheet, Table } from '../../output/table.ts';
import { durationText, enumWord, timeText } from '../../output/words.ts';

/** A request for a person: what it was, how it went from account to account, and why. */
export function requestText(request: RequestLogged, tokenLabel: string): string {
  const { attempts, noAccount } = request;
  const sentences = attempts.map((attempt, index) => `${index + 1}. ${attemptSentence(attempt)}\n`);
  if (noAccount !== undefined) sentences.push(`${noAccountSentence(noAccount, attempts.length)}\n`);
  const table = attempts.length === 0 ? '' : new Table(attemptColumns).linesOf([...attempts.entries()]);
  return [headText(request, tokenLabel), table, sentences.join('')].filter((part) => part !== '').join('\n');
}

/** What the ledger has of a request, which is less than the log had. */
export function ledgerText(request: UsageRecorded): string {
  const { requestId, admittedAt, tokenId, endpoint, provider, model, accountId, outcome, localDay } = request;
  return factSheet({
    request: requestId,
    admitted: `${timeText(admittedAt, 'unknown')} (counted to ${localDay})`,
    token: tokenId,
    endpoint,
    model: provider === '' ? 'no provider answered' : `${model} of ${provider}`,
    account: accountId,
    outcome: enumWord(Outcome, outcome),
    tokens: tokensText(request),
  });
}

/** How a request ended, in color. */
export function endingCell(request: RequestLogged): Cell {
  const color = { [RequestEnding.FAILED]: 'red', [RequestEnding.REFUSED]: 'yellow' } as const;
  const text = endingText(request);
  const { ending } = request;
  return ending === RequestEnding.FAILED || ending === RequestEnding.REFUSED ? { text, color: color[ending] } : text;
}

/** How a request ended, in a few words: "failed with 429 pool_exhausted". */
function endingText({ ending, status, errorCode, moved, slow }: RequestLogged): string {
  const traits = [...(moved ? ['moved'] : []), ...(slow ? ['slow'] : [])].join(', ');
  return `${endingWords[ending]} with ${status}${errorCode && ` ${errorCode}`}${traits && ` (${traits})`}`;
}

/** How long after its beginning something came; a dash when it did not. */
export function afterText(ms: number | undefined, beginMs = 0): string {
  return ms === undefined ? '–' : durationText(ms - beginMs);
}

const endingWords: Readonly<Record<RequestEnding, string>> = {
  [RequestEnding.UNSPECIFIED]: 'ended',
  [RequestEnding.COMPLETED]: 'completed',
  [RequestEnding.REFUSED]: 'refused',
  [RequestEnding.FAILED]: 'failed',
  [RequestEnding.ABORTED]: 'left by its client,',
};

function headText(request: RequestLogged, tokenLabel: string): string {
  const { requestId, clientRequestId, receivedAt, tokenId, endpoint, model, usage } = request;
  return factSheet({
    request: requestId,
    'client calls it': clientRequestId,
    received: timeText(receivedAt, 'unknown'),
    token: tokenLabel === '' ? tokenId : `${tokenLabel} (${tokenId})`,
    endpoint,
    model: model || 'not known: the body was not read',
    ended: endingCell(request),
    tokens: usage === undefined ? 'none recorded' : tokensText(usage),
    times: timesText(request),
  });
}

/** "1200 in (1000 of them cached), 80 out (20 of them reasoning)" */
function tokensText(usage: Omit<NonNullable<RequestLogged['usage']>, `$${string}`>): string {
  const { inputTokens, cachedTokens, outputTokens, reasoningTokens, estimated } = usage;
  const cached = cachedTokens === 0n ? '' : ` (${cachedTokens} of them cached)`;
  const reasoning = reasoningTokens === 0n ? '' : ` (${reasoningTokens} of them reasoning)`;
  return `${inputTokens} in${cached}, ${outputTokens} out${reasoning}${estimated ? ', estimated' : ''}`;
}

function timesText({ times }: RequestLogged): string {
  if (times === undefined) return '';
  const { admitted, bodyRead, waitedForRoom, firstAttempt, firstByte, ended } = times;
  const byName = { admitted, 'body read': bodyRead, 'first attempt': firstAttempt, 'first byte': firstByte, ended };
  const known = Object.entries(byName).flatMap(([what, ms]) =>
    ms === undefined ? [] : [`${what} after ${durationText(ms)}`],
  );
  const waited = waitedForRoom < 1 ? [] : [`waited ${durationText(waitedForRoom)} for room for its body`];
  return [...known, ...waited].join(', ');
}

const attemptColumns: Columns<readonly [number, LoggedAttempt]> = {
  attempt: ([index]) => String(index + 1),
  account: ([, { accountId }]) => accountId,
  model: ([, { model }]) => model,
  result: ([, attempt]) => attemptWord(attempt),
  status: ([, { upstreamStatus }]) => (upstreamStatus === 0 ? '–' : String(upstreamStatus)),
  'began after': ([, { acquired }]) => durationText(acquired),
  'first byte': ([, { firstByte, acquired }]) => afterText(firstByte, acquired),
  took: ([, { ended, acquired }]) => afterText(ended, acquired),
};

function attemptWord({ result, givenUp }: LoggedAttempt): string {
  if (result === AttemptResult.UNSPECIFIED) return 'not_ended';
  return givenUp === AttemptGivenUp.UNSPECIFIED ? enumWord(AttemptResult, result) : enumWord(AttemptGivenUp, givenUp);
}

function attemptSentence(attempt: LoggedAttempt): string {
  const { accountId, reason, amended, asked, acquired, skipped } = attempt;
  // An answer of the broker takes a millisecond or two.
  const waited = acquired - asked < 50 ? '' : `, for which the broker took ${durationText(acquired - asked)}`;
  const amendment = amended && ` It was sent again without what the provider refused (${amended}).`;
  return `It went to ${accountId}${reason && ` (${reason})`}${waited}. ${resultText(attempt)}${amendment}${skippedText(skipped)}`;
}

/** How an attempt ended, in a sentence. */
function resultText({ result, givenUp, upstreamStatus, retryAt, firstByte }: LoggedAttempt): string {
  if (givenUp !== AttemptGivenUp.UNSPECIFIED) return givenUpTexts[givenUp];
  const isFailure = result !== AttemptResult.SUCCEEDED && result !== AttemptResult.UNSPECIFIED;
  const status = upstreamStatus === 0 || result === AttemptResult.SUCCEEDED ? '' : ` (${upstreamStatus})`;
  const broken = firstByte !== undefined && isFailure ? ' in the middle of the answer' : '';
  const until = retryAt === undefined ? '' : `; the account is free again at ${timeText(retryAt)}`;
  return `${resultTexts[result]}${status}${broken}${until}.`;
}

const givenUpTexts: Readonly<Record<AttemptGivenUp, string>> = {
  [AttemptGivenUp.UNSPECIFIED]: '',
  [AttemptGivenUp.CLIENT_LEFT]: 'The client left.',
  [AttemptGivenUp.ADAPTER_AWAY]: 'The adapter of its format could not be reached, or was lost.',
  [AttemptGivenUp.NOT_EXPRESSIBLE]: "The pool's format can't carry what the request asks.",
  [AttemptGivenUp.CLIENT_STALLED]: 'The client took nothing of the answer for too long, and was cut off.',
  [AttemptGivenUp.TOO_LONG]: 'The answer lasted longer than the edge lets answers last.',
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
};

function noAccountSentence(noAccount: NoAccount, attempts: number): string {
  const which = attempts === 0 ? 'No account took it' : 'No other account took it';
  return `${which}: ${noAccountReason(noAccount)}.${skippedText(noAccount.skipped)}`;
}

function noAccountReason({ cause, retryAt, reason, asked, answered }: NoAccount): string {
  switch (cause) {
    case NoAccountCause.EXHAUSTED:
      return `all that could are limited${retryAt === undefined ? '' : `, the first of them until ${timeText(retryAt)}`}`;
    case NoAccountCause.UNKNOWN_MODEL:
      return 'there is no such model, or not on this endpoint';
    case NoAccountCause.BROKER_AWAY:
      return `the broker did not answer within ${durationText(answered - asked)}`;
    default:
      return reason || 'none that could is available, for other reasons than limits';
  }
}

function skippedText(skipped: readonly SkippedAccounts[]): string {
  if (skipped.length === 0) return '';
  const groups = skipped.map(({ pool, model, reason, count }) => `${count} of ${pool} for ${model}: ${reason}`);
  return ` Passed over: ${groups.join('; ')}.`;
}
