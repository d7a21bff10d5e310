import { create } from '@bufbuild/protobuf';
import { AttemptReportSchema, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { CancelReason } from '@gateway/proto/usage/v1/request_log_pb.js';
import { describe, expect, it } from 'vitest';
import { LoggedRequest } from './__fixtures__/logged-request.ts';
import { failureOf, toLogFields } from './describe-request.ts';

const read = () => new LoggedRequest().read();
const begun = () => {
  const request = read().lease('a');
  request.entry.onAnswering();
  return request;
};
const cancelled = (request: LoggedRequest, why: CancelReason) => {
  request.entry.onAttemptEnded(create(AttemptReportSchema, { result: AttemptResult.CANCELLED }), why);
  return request;
};

describe('why a request failed, in one word', () => {
  it.each([
    ['nothing for one that did not', read().lease('a').answer().end(), ''],
    ['our code', read().end({ status: 429, errorCode: 'rate_limit_exceeded' }), 'rate_limit_exceeded'],
    [
      'the status of a provider whose answer was passed on',
      read().lease('a').fail(AttemptResult.REJECTED, 413).end({ status: 413 }),
      '413',
    ],
    ['how its answer broke off', begun().fail(AttemptResult.SERVER_ERROR).end(), 'server_error'],
    ['why its answer was given up', cancelled(begun(), CancelReason.TOO_LONG).end(), 'too_long'],
    [
      'that its client left',
      cancelled(begun(), CancelReason.CLIENT_LEFT).end({ status: 499, clientLeft: true }),
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
  it('names its attempts by pool and result, and never an account', () => {
    const { message } = new LoggedRequest('id')
      .read()
      .lease('secret-account')
      .wait(100)
      .fail(AttemptResult.RATE_LIMITED, 429)
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
    expect(JSON.stringify(fields)).not.toContain('secret-account');
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
