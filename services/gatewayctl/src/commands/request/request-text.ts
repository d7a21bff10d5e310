import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import type { SkippedAccounts } from '@gateway/proto/pool/v1/account_pb.js';
import {
  type LoggedAttempt,
  type NoAccount,
  NoAccountCause,
  RequestEnding,
  type RequestLogged,
} from '@gateway/proto/usage/v1/request_log_pb.js';
import { durationText } from '../../output/duration-text.ts';
import { formatTable } from '../../output/table.ts';
import { attemptResultText, attemptWord } from './attempt-text.ts';
import { tokensText } from './tokens-text.ts';

/** A request for a person: what it was, how it went from account to account, and why. */
export function requestText(request: RequestLogged): string {
  const { attempts, noAccount } = request;
  const sentences = [
    ...attempts.map((attempt, index) => `${index + 1}. ${attemptSentence(attempt)}${skippedText(attempt.skipped)}`),
    ...(noAccount === undefined
      ? []
      : [`${noAccountSentence(noAccount, attempts.length)}${skippedText(noAccount.skipped)}`]),
  ];
  return [headText(request), attempts.length === 0 ? '' : attemptsTable(attempts), sentences.map(line).join('')]
    .filter((part) => part !== '')
    .join('\n');
}

/** How a request ended, in a few words: "failed with 429 pool_exhausted". */
export function endingText({ ending, status, errorCode, moved, slow }: RequestLogged): string {
  const traits = [moved ? 'moved' : '', slow ? 'slow' : ''].filter((trait) => trait !== '').join(', ');
  return `${endingWords[ending]} with ${status}${errorCode === '' ? '' : ` ${errorCode}`}${traits === '' ? '' : ` (${traits})`}`;
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
      ['received', isoTime(receivedAt)],
      ['token', tokenId],
      ['endpoint', endpoint],
      ['model', model === '' ? 'not known: the body was not read' : model],
      ['ended', endingText(request)],
      ['tokens', usage === undefined ? 'none recorded' : tokensText(usage)],
      ['times', timesText(request)],
    ],
  );
}

function timesText({ moments }: RequestLogged): string {
  if (moments === undefined) return '';
  const { admitted, bodyRead, waitedForRoom, firstAttempt, firstByte, ended } = moments;
  const parts: readonly (readonly [string, number | undefined])[] = [
    ['admitted', admitted],
    ['body read', bodyRead],
    ['first attempt', firstAttempt],
    ['first byte', firstByte],
    ['ended', ended],
  ];
  const steps = parts.flatMap(([what, ms]) => (ms === undefined ? [] : [`${what} after ${durationText(ms)}`]));
  const waited = waitedForRoom < 1 ? [] : [`waited ${durationText(waitedForRoom)} for room for its body`];
  return [...steps, ...waited].join(', ');
}

function attemptsTable(attempts: readonly LoggedAttempt[]): string {
  return formatTable(
    ['attempt', 'account', 'model', 'result', 'status', 'began after', 'first byte', 'took'],
    attempts.map((attempt, index) => [
      String(index + 1),
      attempt.accountId,
      attempt.model,
      attemptWord(attempt),
      attempt.upstreamStatus === 0 ? '–' : String(attempt.upstreamStatus),
      durationText(attempt.acquired),
      attempt.firstByte === undefined ? '–' : durationText(attempt.firstByte - attempt.acquired),
      attempt.ended === undefined ? '–' : durationText(attempt.ended - attempt.acquired),
    ]),
  );
}

function attemptSentence(attempt: LoggedAttempt): string {
  const { accountId, reason, amended, asked, acquired } = attempt;
  const why = reason === '' ? '' : ` (${reason})`;
  const waited =
    acquired - asked < slowAcquireMs ? '' : `, for which the broker took ${durationText(acquired - asked)}`;
  const amendment = amended === '' ? '' : ` It was sent again without what the provider refused (${amended}).`;
  return `It went to ${accountId}${why}${waited}. ${attemptResultText(attempt)}${amendment}`;
}

/** An answer of the broker takes a millisecond or two. */
const slowAcquireMs = 50;

function noAccountSentence({ cause, retryAt, reason, asked, answered }: NoAccount, attempts: number): string {
  const more = attempts === 0 ? 'No account took it' : 'No other account took it';
  const until = retryAt === undefined ? '' : `, the first of them until ${isoTime(retryAt)}`;
  switch (cause) {
    case NoAccountCause.EXHAUSTED:
      return `${more}: all that could are limited${until}.`;
    case NoAccountCause.UNKNOWN_MODEL:
      return `${more}: there is no such model, or not on this endpoint.`;
    case NoAccountCause.BROKER_AWAY:
      return `${more}: the broker did not answer within ${durationText(answered - asked)}.`;
    default:
      return `${more}: ${reason === '' ? 'none that could is available, for other reasons than limits' : reason}.`;
  }
}

function skippedText(skipped: readonly SkippedAccounts[]): string {
  if (skipped.length === 0) return '';
  const groups = skipped.map(({ pool, model, reason, count }) => `${count} of ${pool} for ${model}: ${reason}`);
  return ` Passed over: ${groups.join('; ')}.`;
}

function isoTime(time: Timestamp | undefined): string {
  return time === undefined ? 'unknown' : timestampDate(time).toISOString();
}

function line(text: string): string {
  return `${text}\n`;
}
