import type { SkippedAccounts } from '@gateway/proto/pool/v1/account_pb.js';
import {
  type LoggedAttempt,
  type NoAccount,
  NoAccountCause,
  RequestEnding,
  type RequestLogged,
} from '@gateway/proto/usage/v1/request_log_pb.js';
import { Outcome, type UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { type Columns, formatRecords, formatTable } from '../../output/table.ts';
import { durationText, enumWord, timeText } from '../../output/words.ts';
import { attemptResultText, attemptWord } from './attempt-text.ts';

/** A request for a person: what it was, how it went from account to account, and why. */
export function requestText(request: RequestLogged): string {
  const { attempts, noAccount } = request;
  const sentences = attempts.map((attempt, index) => `${index + 1}. ${attemptSentence(attempt)}\n`);
  if (noAccount !== undefined) sentences.push(`${noAccountSentence(noAccount, attempts.length)}\n`);
  const table = attempts.length === 0 ? '' : formatRecords(attemptColumns, [...attempts.entries()]);
  return [headText(request), table, sentences.join('')].filter((part) => part !== '').join('\n');
}

/** How a request ended, in a few words: "failed with 429 pool_exhausted". */
export function endingText({ ending, status, errorCode, moved, slow }: RequestLogged): string {
  const traits = [...(moved ? ['moved'] : []), ...(slow ? ['slow'] : [])].join(', ');
  return `${endingWords[ending]} with ${status}${errorCode === '' ? '' : ` ${errorCode}`}${traits === '' ? '' : ` (${traits})`}`;
}

/** How long after its beginning something came; a dash when it did not. */
export function afterText(ms: number | undefined, beginMs = 0): string {
  return ms === undefined ? '–' : durationText(ms - beginMs);
}

/** What the ledger has of a request, which is less than the log had. */
export function ledgerText(request: UsageRecorded): string {
  const { requestId, admittedAt, tokenId, endpoint, provider, model, outcome, localDay } = request;
  return formatTable(
    ['request', requestId],
    [
      ['admitted', `${timeText(admittedAt, 'unknown')} (counted to ${localDay})`],
      ['token', tokenId],
      ['endpoint', endpoint],
      ['model', provider === '' ? 'no provider answered' : `${model} of ${provider}`],
      ['outcome', enumWord(Outcome, outcome)],
      ['tokens', tokensText(request)],
    ],
  );
}

const endingWords: Readonly<Record<RequestEnding, string>> = {
  [RequestEnding.UNSPECIFIED]: 'ended',
  [RequestEnding.COMPLETED]: 'completed',
  [RequestEnding.REFUSED]: 'refused',
  [RequestEnding.FAILED]: 'failed',
  [RequestEnding.ABORTED]: 'left by its client,',
};

function headText(request: RequestLogged): string {
  const { requestId, clientRequestId, receivedAt, tokenId, endpoint, model, usage } = request;
  return formatTable(
    ['request', requestId],
    [
      ...(clientRequestId === '' ? [] : [['client calls it', clientRequestId]]),
      ['received', timeText(receivedAt, 'unknown')],
      ['token', tokenId],
      ['endpoint', endpoint],
      ['model', model === '' ? 'not known: the body was not read' : model],
      ['ended', endingText(request)],
      ['tokens', usage === undefined ? 'none recorded' : tokensText(usage)],
      ['times', timesText(request)],
    ],
  );
}

/** "1200 in (1000 of them cached), 80 out (20 of them reasoning)" */
function tokensText(usage: Omit<NonNullable<RequestLogged['usage']>, `$${string}`>): string {
  const { inputTokens, cachedTokens, outputTokens, reasoningTokens, estimated } = usage;
  const cached = cachedTokens === 0n ? '' : ` (${cachedTokens} of them cached)`;
  const reasoning = reasoningTokens === 0n ? '' : ` (${reasoningTokens} of them reasoning)`;
  return `${inputTokens} in${cached}, ${outputTokens} out${reasoning}${estimated ? ', estimated' : ''}`;
}

function timesText({ moments }: RequestLogged): string {
  if (moments === undefined) return '';
  const { admitted, bodyRead, waitedForRoom, firstAttempt, firstByte, ended } = moments;
  const times = Object.entries({
    admitted,
    'body read': bodyRead,
    'first attempt': firstAttempt,
    'first byte': firstByte,
    ended,
  });
  const known = times.flatMap(([what, ms]) => (ms === undefined ? [] : [`${what} after ${durationText(ms)}`]));
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

function attemptSentence(attempt: LoggedAttempt): string {
  const { accountId, reason, amended, asked, acquired, skipped } = attempt;
  const why = reason === '' ? '' : ` (${reason})`;
  const waitedMs = acquired - asked;
  const waited = waitedMs < slowAcquireMs ? '' : `, for which the broker took ${durationText(waitedMs)}`;
  const amendment = amended === '' ? '' : ` It was sent again without what the provider refused (${amended}).`;
  return `It went to ${accountId}${why}${waited}. ${attemptResultText(attempt)}${amendment}${skippedText(skipped)}`;
}

/** An answer of the broker takes a millisecond or two. */
const slowAcquireMs = 50;

function noAccountSentence(noAccount: NoAccount, attempts: number): string {
  const who = attempts === 0 ? 'No account took it' : 'No other account took it';
  return `${who}: ${noAccountReason(noAccount)}.${skippedText(noAccount.skipped)}`;
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
      return reason === '' ? 'none that could is available, for other reasons than limits' : reason;
  }
}

function skippedText(skipped: readonly SkippedAccounts[]): string {
  if (skipped.length === 0) return '';
  const groups = skipped.map(({ pool, model, reason, count }) => `${count} of ${pool} for ${model}: ${reason}`);
  return ` Passed over: ${groups.join('; ')}.`;
}
