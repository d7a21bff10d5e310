import { AttemptGivenUp, RequestEnding } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { TracedRequest } from './__fixtures__/traced-request.ts';
import { endingOf, hasMoved, isPlainSuccess, isRemarkable, isSlow } from './request-ending.ts';

const { RATE_LIMITED, REJECTED, SERVER_ERROR, CANCELLED } = AttemptResult;
const request = () => new TracedRequest().read();
const givenUp = (traced: TracedRequest, why: AttemptGivenUp) => {
  traced.trace.onAttemptEnded({ result: CANCELLED }, why);
  return traced;
};
const answering = () => {
  const traced = request().lease('a');
  traced.trace.onAnswering();
  return traced;
};

describe('the ending of a request', () => {
  it.each([
    ['under way', request().lease('a'), RequestEnding.RUNNING],
    ['completed when its account answered', request().lease('a').answer().end(), RequestEnding.COMPLETED],
    [
      'refused when the client must mend it',
      request().end({ status: 400, errorCode: 'invalid_json' }),
      RequestEnding.REFUSED,
    ],
    [
      "refused when it is over the token's limits",
      request().end({ status: 429, errorCode: 'rate_limit_exceeded' }),
      RequestEnding.REFUSED,
    ],
    [
      'refused when the provider refuses it, in the words of the gateway or its own',
      request().lease('a').fail(REJECTED, 413).end({ status: 413, errorCode: 'upstream_rejected' }),
      RequestEnding.REFUSED,
    ],
    [
      'refused when the provider refuses it after the answer has begun',
      answering().fail(REJECTED, 0).end(),
      RequestEnding.REFUSED,
    ],
    [
      'refused when no format can carry it',
      givenUp(request().lease('a'), AttemptGivenUp.NOT_EXPRESSIBLE).end({
        status: 400,
        errorCode: 'unsupported_content',
      }),
      RequestEnding.REFUSED,
    ],
    [
      'failed when every account is limited',
      request().exhaust().end({ status: 429, errorCode: 'pool_exhausted' }),
      RequestEnding.FAILED,
    ],
    [
      'failed when the provider failed, whose own answer went to the client',
      request().lease('a').fail(RATE_LIMITED, 429).end({ status: 429 }),
      RequestEnding.FAILED,
    ],
    [
      "failed when a provider's status went to the client without its words",
      request().lease('a').fail(SERVER_ERROR, 402).end({ status: 402, errorCode: 'upstream_rejected' }),
      RequestEnding.FAILED,
    ],
    [
      'failed when nobody could serve it',
      request().end({ status: 503, errorCode: 'providers_unavailable' }),
      RequestEnding.FAILED,
    ],
    ['failed when its answer broke off', answering().fail(SERVER_ERROR).end(), RequestEnding.FAILED],
    [
      'failed when the adapter was lost in the middle, even if the connection had to be cut',
      givenUp(answering(), AttemptGivenUp.ADAPTER_AWAY).end({ status: 499, clientLeft: true }),
      RequestEnding.FAILED,
    ],
    [
      'aborted when the client left in the middle',
      givenUp(answering(), AttemptGivenUp.CLIENT_LEFT).end({ status: 499, clientLeft: true }),
      RequestEnding.ABORTED,
    ],
    [
      'aborted when the client was cut off because it took nothing',
      givenUp(answering(), AttemptGivenUp.CLIENT_STALLED).end({ status: 499, clientLeft: true }),
      RequestEnding.ABORTED,
    ],
    [
      'failed when its answer lasted too long',
      givenUp(answering(), AttemptGivenUp.TOO_LONG).end(),
      RequestEnding.FAILED,
    ],
    [
      'aborted when the client left before the first byte',
      givenUp(request().lease('a'), AttemptGivenUp.CLIENT_LEFT).end({ status: 499, clientLeft: true }),
      RequestEnding.ABORTED,
    ],
  ])('is %s', (_what, { story }, ending) => {
    expect(endingOf(story)).toBe(ending);
  });
});

describe('a remarkable request', () => {
  const slowMs = 10_000;

  it('moved, failed, was amended, or was slow', () => {
    const moved = request().lease('a').fail(RATE_LIMITED).lease('b').answer().end();
    expect(hasMoved(moved.story)).toBe(true);
    const amended = request().lease('a');
    amended.trace.onAmended('sealed_reasoning');
    const failed = request().end({ status: 500, errorCode: 'internal_error' });
    const slow = request().lease('a').wait(slowMs).answer().end();
    for (const { story } of [moved, amended.answer().end(), failed, slow]) {
      expect(isRemarkable(story, slowMs)).toBe(true);
      expect(isPlainSuccess(story, slowMs)).toBe(false);
    }
  });

  it('is no plain success, and not what clients did themselves', () => {
    const success = request().lease('a').answer().end();
    expect(isRemarkable(success.story, slowMs)).toBe(false);
    expect(isPlainSuccess(success.story, slowMs)).toBe(true);
    const refused = request().end({ status: 400, errorCode: 'invalid_json' });
    expect(isRemarkable(refused.story, slowMs)).toBe(false);
    expect(isPlainSuccess(refused.story, slowMs)).toBe(false);
  });

  it('is slow by the time to its first byte, not by its length or by how slowly the client sent it', () => {
    expect(isSlow(request().lease('a').wait(slowMs).answer().end().story, slowMs)).toBe(true);
    const long = request().lease('a');
    long.trace.onAnswering();
    expect(isSlow(long.wait(slowMs).fail(AttemptResult.SUCCEEDED).end().story, slowMs)).toBe(false);
    const slowSender = new TracedRequest().wait(slowMs).read().lease('a').answer().end();
    expect(isSlow(slowSender.story, slowMs)).toBe(false);
    const gaveUp = request().lease('a').wait(slowMs).fail(AttemptResult.TIMEOUT).end({ status: 503 });
    expect(isSlow(gaveUp.story, slowMs)).toBe(true);
  });
});
