import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { RecordedAttemptSchema, RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { describe, expect, it } from 'vitest';
import { attemptText, durationText, endingOf } from './request-words.ts';

describe('how a request ended', () => {
  it('is two words in a list', () => {
    expect(endingOf({ ending: RequestEnding.REFUSED, status: 429 })).toEqual({ tone: 'warn', text: 'Rejected 429' });
  });
});

describe('an attempt', () => {
  const text = (init: MessageInitShape<typeof RecordedAttemptSchema>) =>
    attemptText(create(RecordedAttemptSchema, init));

  it('says why this account, and how it went', () => {
    const reason = 'because its session is bound to it';
    expect(text({ reason, result: AttemptResult.RATE_LIMITED, upstreamStatus: 429 })).toBe(
      'Chosen because its session is bound to it. The provider rate limited the account (429).',
    );
    const cause = 'connection refused by 127.0.0.1:9';
    expect(text({ result: AttemptResult.NETWORK_ERROR, cause })).toBe(
      `The provider was unreachable, or the connection broke: ${cause}.`,
    );
    expect(text({ asked: 1, acquired: 2_001 })).toContain('The broker took 2.0\u00a0s to select it.');
  });
});

describe('a duration', () => {
  it('distinguishes short ones', () => {
    expect([0.42, 12.3, 1_340].map(durationText)).toEqual(['0.4\u00a0ms', '12\u00a0ms', '1.3\u00a0s']);
  });
});
