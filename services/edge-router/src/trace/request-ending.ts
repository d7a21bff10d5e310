import type { GatewayErrorCode } from '@gateway/errors';
import { AttemptGivenUp, RequestEnding } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { AttemptStory, RequestEnd, RequestStory } from './request-story.ts';

/** How a request ended, in one word for operators. */
export function endingOf({ end, attempts }: RequestStory): RequestEnding {
  if (end === undefined) return RequestEnding.RUNNING;
  const last = attempts.at(-1);
  if (last !== undefined && brokeOff(last)) {
    return last.outcome?.result === AttemptResult.REJECTED ? RequestEnding.REFUSED : RequestEnding.FAILED;
  }
  if (end.clientLeft) return RequestEnding.ABORTED;
  if (end.status < 400) return RequestEnding.COMPLETED;
  return isForClientToMend(end, last) ? RequestEnding.REFUSED : RequestEnding.FAILED;
}

/** True when more than one account was tried. */
export function hasMoved({ attempts }: RequestStory): boolean {
  return attempts.length > 1;
}

/** True when the answer began `slowMs` after the request was read, or later. How slowly a client sends is its own affair. */
export function isSlow(story: RequestStory, slowMs: number): boolean {
  const { bodyRead, ended } = story.moments;
  return bodyRead !== undefined && (firstByteOf(story) ?? ended ?? bodyRead) - bodyRead >= slowMs;
}

/** When the first content of the answer came from a provider. */
export function firstByteOf({ attempts }: RequestStory): number | undefined {
  return attempts.at(-1)?.firstByte;
}

/** What an operator may want to look at long after: everything but plain successes and what clients did themselves. */
export function isRemarkable(story: RequestStory, slowMs: number): boolean {
  return endingOf(story) === RequestEnding.FAILED || hasMoved(story) || isSlow(story, slowMs) || isAmended(story);
}

/** True for a request that its first account served in whole, just as it was sent, and in time. */
export function isPlainSuccess(story: RequestStory, slowMs: number): boolean {
  return endingOf(story) === RequestEnding.COMPLETED && !isRemarkable(story, slowMs);
}

function isAmended({ attempts }: RequestStory): boolean {
  return attempts.some(({ amended }) => amended !== '');
}

/** True when an answer had begun, and ended otherwise than as a whole, though the client was there. */
function brokeOff({ firstByte, outcome, givenUp }: AttemptStory): boolean {
  if (firstByte === undefined || outcome === undefined) return false;
  const isClients = givenUp === AttemptGivenUp.CLIENT_LEFT || givenUp === AttemptGivenUp.CLIENT_STALLED;
  return outcome.result !== AttemptResult.SUCCEEDED && !isClients;
}

function isForClientToMend({ status, errorCode }: RequestEnd, last: AttemptStory | undefined): boolean {
  if (status >= 500 || errorCode === 'pool_exhausted') return false;
  // A provider's own status goes to clients of some endpoints: only a refusal of the request is about the request.
  return last?.outcome === undefined || !isOfProvider(errorCode) || last.outcome.result === AttemptResult.REJECTED;
}

function isOfProvider(errorCode: GatewayErrorCode | undefined): boolean {
  return errorCode === undefined || errorCode === 'upstream_rejected';
}
