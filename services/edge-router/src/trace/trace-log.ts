import { AttemptGivenUp, NoAccountCause, RequestEnding } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { endingOf, firstByteOf } from './request-ending.ts';
import type { AttemptStory, RequestStory } from './request-story.ts';

/** A request's story as one line of the log. Pools are named, accounts never. */
export function toLogFields(story: RequestStory): Readonly<Record<string, unknown>> {
  const { requestId, clientRequestId, endpoint, tokenId, model, attempts, noAccount, moments, usage, end } = story;
  const firstByte = firstByteOf(story);
  return {
    requestId,
    ...(clientRequestId === '' ? {} : { clientRequestId }),
    endpoint,
    status: end?.status,
    ending: wordOf(RequestEnding, endingOf(story)),
    ...(tokenId === '' ? {} : { tokenId }),
    ...(model === '' ? {} : { model }),
    ...(end?.errorCode === undefined ? {} : { code: end.errorCode }),
    ...(attempts.length === 0 ? {} : { attempts: attempts.map(attemptFields) }),
    ...(noAccount === undefined ? {} : { noAccount: wordOf(NoAccountCause, noAccount.cause) }),
    ...(firstByte === undefined ? {} : { firstByteSeconds: seconds(firstByte) }),
    ...(usage === undefined
      ? {}
      : { inputTokens: Number(usage.inputTokens), outputTokens: Number(usage.outputTokens) }),
    seconds: seconds(moments.ended ?? 0),
  };
}

function attemptFields({ pool, model, outcome, amended, givenUp, acquired, ended }: AttemptStory) {
  return {
    pool,
    model,
    result: wordOf(AttemptResult, outcome?.result ?? AttemptResult.UNSPECIFIED),
    ...(outcome?.upstreamStatus ? { upstreamStatus: outcome.upstreamStatus } : {}),
    ...(amended === '' ? {} : { amended }),
    ...(givenUp === AttemptGivenUp.UNSPECIFIED ? {} : { givenUp: wordOf(AttemptGivenUp, givenUp) }),
    ...(ended === undefined ? {} : { seconds: seconds(ended - acquired) }),
  };
}

/** The name of an enum's value in lower case: `rate_limited`. */
function wordOf(names: Readonly<Record<number, string>>, value: number): string {
  return (names[value] ?? 'unknown').toLowerCase();
}

/** To a tenth of a millisecond: finer means nothing. */
function seconds(ms: number): number {
  return Math.round(ms * 10) / 10_000;
}
