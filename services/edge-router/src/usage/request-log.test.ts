import { create } from '@bufbuild/protobuf';
import { LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { AttemptReportSchema, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { CancelReason, NoAccountCause, RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LoggedRequest } from './__fixtures__/logged-request.ts';
import { createRequestLog, failureOf, isPlainSuccess, toLogFields } from './request-log.ts';

const { RATE_LIMITED, REJECTED, SERVER_ERROR, CANCELLED } = AttemptResult;
const read = () => new LoggedRequest().read();
const cancelled = (request: LoggedRequest, why: CancelReason) => {
  request.entry.onAttemptEnded(create(AttemptReportSchema, { result: CANCELLED }), why);
  return request;
};
const answering = () => {
  const request = read().lease('a');
  request.entry.onAnswering();
  return request;
};

it('knows whether the client asked for a stream, once the body is read', () => {
  expect([new LoggedRequest().message.streamed, read().message.streamed]).toEqual([undefined, true]);
});

describe('the ending of a request', () => {
  it.each([
    ['completed when its account answered', read().lease('a').answer().end(), RequestEnding.COMPLETED],
    [
      'refused when the client must mend it',
      read().end({ status: 400, errorCode: 'invalid_json' }),
      RequestEnding.REFUSED,
    ],
    [
      "refused when it is over the token's limits",
      read().end({ status: 429, errorCode: 'rate_limit_exceeded' }),
      RequestEnding.REFUSED,
    ],
    [
      'refused when the provider refuses it, in the words of the gateway or its own',
      read().lease('a').fail(REJECTED, 413).end({ status: 413, errorCode: 'upstream_rejected' }),
      RequestEnding.REFUSED,
    ],
    [
      'refused when the provider refuses it after the answer has begun',
      answering().fail(REJECTED, 0).end(),
      RequestEnding.REFUSED,
    ],
    [
      'refused when no format can carry it',
      cancelled(read().lease('a'), CancelReason.NOT_EXPRESSIBLE).end({
        status: 400,
        errorCode: 'unsupported_content',
      }),
      RequestEnding.REFUSED,
    ],
    [
      'failed when every account is limited',
      read().exhaust().end({ status: 429, errorCode: 'pool_exhausted' }),
      RequestEnding.FAILED,
    ],
    [
      'failed when the provider failed, whose own answer went to the client',
      read().lease('a').fail(RATE_LIMITED, 429).end({ status: 429 }),
      RequestEnding.FAILED,
    ],
    [
      "failed when a provider's status went to the client without its words",
      read().lease('a').fail(SERVER_ERROR, 402).end({ status: 402, errorCode: 'upstream_rejected' }),
      RequestEnding.FAILED,
    ],
    [
      'failed when no account could serve it',
      read().end({ status: 503, errorCode: 'providers_unavailable' }),
      RequestEnding.FAILED,
    ],
    ['failed when its answer broke off', answering().fail(SERVER_ERROR).end(), RequestEnding.FAILED],
    [
      'failed when the adapter was lost in the middle, even if the connection had to be cut',
      cancelled(answering(), CancelReason.ADAPTER_AWAY).end({ status: 499, clientLeft: true }),
      RequestEnding.FAILED,
    ],
    [
      'aborted when the client left in the middle',
      cancelled(answering(), CancelReason.CLIENT_LEFT).end({ status: 499, clientLeft: true }),
      RequestEnding.ABORTED,
    ],
    [
      'aborted when the client was cut off because it took nothing',
      cancelled(answering(), CancelReason.CLIENT_STALLED).end({ status: 499, clientLeft: true }),
      RequestEnding.ABORTED,
    ],
    [
      'failed when its answer lasted too long',
      cancelled(answering(), CancelReason.TOO_LONG).end(),
      RequestEnding.FAILED,
    ],
    [
      'aborted when the client left before the first byte',
      cancelled(read().lease('a'), CancelReason.CLIENT_LEFT).end({ status: 499, clientLeft: true }),
      RequestEnding.ABORTED,
    ],
  ])('is %s', (_what, { message }, ending) => {
    expect(message.ending).toBe(ending);
  });
});

describe('a plain success', () => {
  it('is none that moved, failed, was refused, amended or slow', () => {
    const moved = read().lease('a').fail(RATE_LIMITED).lease('b').answer().end();
    const amended = read().lease('a');
    amended.entry.onAmended('encrypted_reasoning');
    const failed = read().end({ status: 500, errorCode: 'internal_error' });
    const refused = read().end({ status: 400, errorCode: 'invalid_json' });
    const slow = read().lease('a').wait(10_000).answer().end();
    for (const { message } of [moved, amended.answer().end(), failed, refused, slow]) {
      expect(isPlainSuccess(message)).toBe(false);
    }
    expect(isPlainSuccess(read().lease('a').answer().end().message)).toBe(true);
  });

  it('is slow by the time to its first byte, not by its length or by how slowly the client sent it', () => {
    expect(read().lease('a').wait(10_000).answer().end().message.slow).toBe(true);
    const long = read().lease('a');
    long.entry.onAnswering();
    expect(long.wait(10_000).fail(AttemptResult.SUCCEEDED).end().message.slow).toBe(false);
    const slowSender = new LoggedRequest().wait(10_000).read().lease('a').answer().end();
    expect(slowSender.message.slow).toBe(false);
    const gaveUp = read().lease('a').wait(10_000).fail(AttemptResult.TIMEOUT).end({ status: 503 });
    expect(gaveUp.message.slow).toBe(true);
  });
});

describe('the log entry of a request', () => {
  it('has each attempt with its account, why it was taken, what was passed over, and its times', () => {
    const { message } = read()
      .wait(1)
      .lease('a')
      .wait(100)
      .fail(AttemptResult.RATE_LIMITED, 429)
      .lease('b')
      .wait(200)
      .answer()
      .wait(3)
      .end();
    expect(message).toMatchObject({ tokenId: 't', model: 'gateway/sterk' });
    expect(message.times).toMatchObject({ admitted: 0, bodyRead: 0, firstAttempt: 1.5, firstByte: 302, ended: 305 });
    expect(message.noAccount).toBeUndefined();
    expect(message.attempts[0]?.firstByte).toBeUndefined();
    expect(message.attempts).toMatchObject([
      {
        accountId: 'pool/a',
        reason: 'why',
        skipped: [{ reason: 'cooling after 429', count: 3 }],
        asked: 1,
        acquired: 1.5,
        ended: 101.5,
        result: AttemptResult.RATE_LIMITED,
        upstreamStatus: 429,
      },
      { accountId: 'pool/b', asked: 101.5, acquired: 102, firstByte: 302, ended: 302 },
    ]);
  });

  it('has why a provider did not answer, no longer than the contract allows', () => {
    const failed = (cause: string) =>
      read().lease('a').fail(AttemptResult.NETWORK_ERROR, 0, cause).message.attempts[0]?.cause;
    expect(failed('connection refused by 127.0.0.1:9')).toBe('connection refused by 127.0.0.1:9');
    expect(failed('c'.repeat(1_000))).toBe('c'.repeat(200));
    expect(read().lease('a').answer().message.attempts[0]?.cause).toBe('');
  });

  it('has the limit that refused it, and until when', () => {
    const { entry, message } = new LoggedRequest();
    entry.onRefused({ limit: 'tokens_per_day', retryAtMs: 60_000 });
    expect(message.refusal).toMatchObject({ limit: LimitName.TOKENS_PER_DAY, retryAtMs: 60_000 });
  });

  it('has why there was no account', () => {
    const { message } = read().exhaust(5_000).end({ status: 429, errorCode: 'pool_exhausted' });
    expect(message.noAccount).toMatchObject({ cause: NoAccountCause.EXHAUSTED, retryAtMs: 5_000 });
    const away = read();
    away.entry.onAsking();
    away.wait(1_000).entry.onNoAccount({ cause: NoAccountCause.BROKER_AWAY });
    expect(away.message.noAccount).toMatchObject({ cause: NoAccountCause.BROKER_AWAY, asked: 0, answered: 1_000 });
  });

  it('keeps what was said first of how an attempt ended', () => {
    const { message } = read().lease('a').answer().wait(5).fail(AttemptResult.CANCELLED);
    expect(message.attempts[0]).toMatchObject({ result: AttemptResult.SUCCEEDED, ended: 0.5 });
  });

  it('keeps no more of a model than its id can be long', () => {
    expect(new LoggedRequest().read('m'.repeat(1_000_000)).message.model).toBe('m'.repeat(100));
  });
});

describe('the request log', () => {
  const setUp = () => {
    const time = new ManualTime(1_000_000);
    onTestFinished(() => time[Symbol.dispose]());
    const metrics = new Metrics();
    const outbox = { hasRoomForLog: true };
    return { log: createRequestLog(outbox, metrics), time, metrics, outbox };
  };
  const refused = () => read().end({ status: 429, errorCode: 'rate_limit_exceeded' });

  it('takes no more than a hundred refused requests in a second, and counts the others', async () => {
    const { log, time, metrics } = setUp();
    const taken = Array.from({ length: 250 }, () => log.takes(refused().message));
    expect(taken.filter(Boolean)).toHaveLength(100);
    expect(log.takes(read().lease('a').answer().end().message)).toBe(true);
    expect(await metrics.exposition()).toContain('gateway_edge_request_log_dropped_total{reason="rate"} 150');
    time.advanceMs(1_000);
    expect(log.takes(refused().message)).toBe(true);
  });

  it('has no request without a valid token', () => {
    const { log } = setUp();
    expect(log.takes(new LoggedRequest('id').end({ status: 401, errorCode: 'unauthorized' }).message)).toBe(false);
  });

  it('counts what the outbox has no room for', async () => {
    const { log, metrics, outbox } = setUp();
    outbox.hasRoomForLog = false;
    expect(log.takes(read().lease('a').answer().end().message)).toBe(false);
    expect(await metrics.exposition()).toContain('gateway_edge_request_log_dropped_total{reason="backlog"} 1');
  });
});

describe('why a request failed, in one word', () => {
  it.each([
    ['nothing for one that did not', read().lease('a').answer().end(), ''],
    ['our code', read().end({ status: 429, errorCode: 'rate_limit_exceeded' }), 'rate_limit_exceeded'],
    [
      'the status of a provider whose answer was passed on',
      read().lease('a').fail(AttemptResult.REJECTED, 413).end({ status: 413 }),
      '413',
    ],
    ['how its answer broke off', answering().fail(AttemptResult.SERVER_ERROR).end(), 'server_error'],
    ['why its answer was given up', cancelled(answering(), CancelReason.TOO_LONG).end(), 'too_long'],
    [
      'that its client left',
      cancelled(answering(), CancelReason.CLIENT_LEFT).end({ status: 499, clientLeft: true }),
      'client_closed_request',
    ],
    [
      'that its client left before all',
      new LoggedRequest().end({ status: 499, clientLeft: true }),
      'client_closed_request',
    ],
  ])('is %s', (_what, { message }, word) => {
    expect(failureOf(message)).toBe(word);
  });
});

describe("a request's line in the process' own log", () => {
  it('names its attempts by pool and result, and never an account or the address in a cause', () => {
    const { message } = new LoggedRequest('id')
      .read()
      .lease('secret-account')
      .wait(100)
      .fail(AttemptResult.RATE_LIMITED, 429, 'refused by 10.0.0.7:443')
      .exhaust()
      .end({ status: 429, errorCode: 'pool_exhausted' });
    const fields = toLogFields(message);
    expect(fields).toEqual({
      request_id: 'id',
      endpoint: '/v1/messages',
      status: 429,
      ending: 'failed',
      token_id: 't',
      model: 'gateway/sterk',
      code: 'pool_exhausted',
      attempts: [{ pool: 'pool', model: 'gpt-5.5', result: 'rate_limited', upstream_status: 429, seconds: 0.1 }],
      no_account: 'exhausted',
      seconds: 0.1005,
    });
    expect(JSON.stringify(fields)).not.toMatch(/secret-account|10\.0\.0\.7/);
  });

  it('has little of a request that did not come far', () => {
    const fields = toLogFields(new LoggedRequest('id').end({ status: 401, errorCode: 'unauthorized' }).message);
    expect(fields).toEqual({
      request_id: 'id',
      endpoint: '/v1/messages',
      status: 401,
      ending: 'refused',
      code: 'unauthorized',
      seconds: 0,
    });
  });
});
