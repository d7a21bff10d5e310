import { NoAccountCause } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { TracedRequest } from './__fixtures__/traced-request.ts';

describe('the trace of a request', () => {
  it('tells each attempt with its account, why it was taken, what was passed over, and its moments', () => {
    const { story } = new TracedRequest()
      .read()
      .wait(1)
      .lease('a')
      .wait(100)
      .fail(AttemptResult.RATE_LIMITED, 429)
      .lease('b')
      .wait(200)
      .answer()
      .wait(3)
      .end();
    expect(story).toMatchObject({ tokenId: 't', model: 'gateway/sterk', noAccount: undefined });
    expect(story.moments).toEqual({ admitted: 0, bodyRead: 0, ended: 305 });
    expect(story.attempts).toMatchObject([
      {
        accountId: 'pool/a',
        reason: 'why',
        skipped: [{ reason: 'cooling after 429', count: 3 }],
        asked: 1,
        acquired: 1.5,
        firstByte: undefined,
        ended: 101.5,
        outcome: { result: AttemptResult.RATE_LIMITED, upstreamStatus: 429 },
      },
      { accountId: 'pool/b', asked: 101.5, acquired: 102, firstByte: 302, ended: 302 },
    ]);
  });

  it('tells why there was no account', () => {
    const { story } = new TracedRequest().read().exhaust(5_000).end({ status: 429, errorCode: 'pool_exhausted' });
    expect(story.noAccount).toMatchObject({ cause: NoAccountCause.EXHAUSTED, retryAtMs: 5_000 });
    const away = new TracedRequest().read();
    away.trace.onAsking();
    away.wait(1_000).trace.onBrokerAway();
    expect(away.story.noAccount).toMatchObject({ cause: NoAccountCause.BROKER_AWAY, asked: 0, answered: 1_000 });
  });

  it('keeps the first word on how an attempt ended', () => {
    const { story } = new TracedRequest().read().lease('a').answer().wait(5).fail(AttemptResult.CANCELLED);
    expect(story.attempts[0]).toMatchObject({ outcome: { result: AttemptResult.SUCCEEDED }, ended: 0.5 });
  });

  it('keeps no more of a model than its id can be long', () => {
    expect(new TracedRequest().read('m'.repeat(1_000_000)).story.model).toBe('m'.repeat(100));
  });
});
