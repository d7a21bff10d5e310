import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { AttemptGivenUp, type LoggedAttempt } from '@gateway/proto/usage/v1/request_log_pb.js';
import { enumWord, timeText } from '../../output/words.ts';

/** How an attempt ended, in one word for a table. */
export function attemptWord({ result, givenUp }: LoggedAttempt): string {
  if (result === AttemptResult.UNSPECIFIED) return 'not_ended';
  return givenUp === AttemptGivenUp.UNSPECIFIED ? enumWord(AttemptResult, result) : enumWord(AttemptGivenUp, givenUp);
}

/** How an attempt ended, in a sentence. */
export function attemptResultText(attempt: LoggedAttempt): string {
  const { result, givenUp, upstreamStatus, retryAt, firstByte } = attempt;
  if (givenUp !== AttemptGivenUp.UNSPECIFIED) return givenUpTexts[givenUp];
  const status = upstreamStatus === 0 || result === AttemptResult.SUCCEEDED ? '' : ` (${upstreamStatus})`;
  const until = retryAt === undefined ? '' : `; the account is free again at ${timeText(retryAt)}`;
  const broken = firstByte !== undefined && isFailure(result) ? ' in the middle of the answer' : '';
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

function isFailure(result: AttemptResult): boolean {
  return result !== AttemptResult.SUCCEEDED && result !== AttemptResult.UNSPECIFIED;
}
