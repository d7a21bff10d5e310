import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { TracedRequest } from './__fixtures__/traced-request.ts';
import { toLogFields } from './trace-log.ts';

describe("a request's line in the log", () => {
  it('tells its attempts by pool and result, and never names an account', () => {
    const { story } = new TracedRequest('id')
      .read()
      .lease('secret-account')
      .wait(100)
      .fail(AttemptResult.RATE_LIMITED, 429)
      .exhaust()
      .end({ status: 429, errorCode: 'pool_exhausted' });
    const fields = toLogFields(story);
    expect(fields).toEqual({
      requestId: 'id',
      endpoint: '/v1/messages',
      status: 429,
      ending: 'failed',
      tokenId: 't',
      model: 'gateway/sterk',
      code: 'pool_exhausted',
      attempts: [{ pool: 'pool', model: 'gpt-5.5', result: 'rate_limited', upstreamStatus: 429, seconds: 0.1 }],
      noAccount: 'exhausted',
      seconds: 0.1005,
    });
    expect(JSON.stringify(fields)).not.toContain('secret-account');
  });

  it('has little of a request that did not come far', () => {
    const fields = toLogFields(new TracedRequest('id').end({ status: 401, errorCode: 'unauthorized' }).story);
    expect(fields).toEqual({
      requestId: 'id',
      endpoint: '/v1/messages',
      status: 401,
      ending: 'refused',
      code: 'unauthorized',
      seconds: 0,
    });
  });
});
