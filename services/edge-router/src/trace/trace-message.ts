import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type {
  AttemptTraceSchema,
  NoAccountSchema,
  RequestMomentsSchema,
  RequestTraceSchema,
} from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { endingOf, firstByteOf, hasMoved, isSlow } from './request-ending.ts';
import type { AttemptStory, NoAccountStory, RequestStory } from './request-story.ts';

/** A request's story as operators get it. */
export function toTraceMessage(story: RequestStory, slowMs: number): MessageInitShape<typeof RequestTraceSchema> {
  const { requestId, clientRequestId, receivedAtMs, tokenId, endpoint, model, attempts, noAccount, usage, end } = story;
  return {
    requestId,
    clientRequestId,
    receivedAt: timestampFromMs(receivedAtMs),
    tokenId,
    endpoint,
    model,
    attempts: attempts.map(toAttemptMessage),
    ending: endingOf(story),
    status: end?.status ?? 0,
    errorCode: end?.errorCode ?? '',
    moments: toMomentsMessage(story),
    moved: hasMoved(story),
    slow: isSlow(story, slowMs),
    ...(noAccount === undefined ? {} : { noAccount: toNoAccountMessage(noAccount) }),
    ...(usage === undefined ? {} : { usage: { ...usage } }),
  };
}

function toAttemptMessage(attempt: AttemptStory): MessageInitShape<typeof AttemptTraceSchema> {
  const { pool, accountId, model, reason, skipped, asked, acquired, outcome, amended, givenUp } = attempt;
  return {
    pool,
    accountId,
    model,
    reason,
    skipped: [...skipped],
    asked,
    acquired,
    result: outcome?.result ?? AttemptResult.UNSPECIFIED,
    upstreamStatus: outcome?.upstreamStatus ?? 0,
    amended,
    givenUp,
    ...(attempt.firstByte === undefined ? {} : { firstByte: attempt.firstByte }),
    ...(attempt.ended === undefined ? {} : { ended: attempt.ended }),
    ...(outcome?.retryAt === undefined ? {} : { retryAt: outcome.retryAt }),
  };
}

function toNoAccountMessage(noAccount: NoAccountStory): MessageInitShape<typeof NoAccountSchema> {
  const { cause, retryAtMs, reason, skipped, asked, answered } = noAccount;
  const retryAt = retryAtMs === undefined ? {} : { retryAt: timestampFromMs(retryAtMs) };
  return { cause, ...retryAt, reason, skipped: [...skipped], asked, answered };
}

function toMomentsMessage(story: RequestStory): MessageInitShape<typeof RequestMomentsSchema> {
  const { admitted, bodyRead, ended } = story.moments;
  const firstAttempt = story.attempts[0]?.acquired;
  const firstByte = firstByteOf(story);
  return {
    waitedForRoom: story.end?.waitedForRoomMs ?? 0,
    ...(admitted === undefined ? {} : { admitted }),
    ...(bodyRead === undefined ? {} : { bodyRead }),
    ...(firstAttempt === undefined ? {} : { firstAttempt }),
    ...(firstByte === undefined ? {} : { firstByte }),
    ...(ended === undefined ? {} : { ended }),
  };
}
