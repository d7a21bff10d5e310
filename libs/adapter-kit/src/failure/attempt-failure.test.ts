import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { epochMs } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { failureOfChoice, toAttemptFailure } from './attempt-failure.ts';
import { consequences, type ErrorMeaning } from './error-meanings.ts';

const meanings = Object.keys(consequences) as readonly ErrorMeaning[];
const failureOf = (meaning: ErrorMeaning, isLimitOfAccount = false) =>
  toAttemptFailure({
    meaning,
    upstreamStatus: 429,
    upstreamCode: 'code',
    retryAtMs: epochMs() + 5_000,
    isLimitOfAccount,
  });

describe('the failure of a request that chose a service tier', () => {
  it.each(['limited', 'model_limited', 'overloaded'] as const)('concerns only the request: %s', (meaning) => {
    const failure = failureOfChoice({
      ...failureOf(meaning),
      answer: { status: 429, contentType: '', body: new Uint8Array(1) },
    });
    expect(failure).toMatchObject({
      result: AttemptResult.FEATURE_UNAVAILABLE,
      meaning: 'unavailable_choice',
      feature: undefined,
      modelScoped: false,
      retryAtMs: undefined,
      upstreamStatus: 429,
      answer: { status: 429 },
      error: {
        code: 'providers_unavailable',
        upstreamStatus: 429,
        upstreamCode: 'code',
        retryAfterMs: expect.any(Number),
      },
    });
  });

  it.each(['limited', 'model_limited'] as const)(
    'concerns the account when the answer shows that its own limit is reached: %s',
    (meaning) => {
      const failure = failureOf(meaning, true);
      expect(failureOfChoice(failure)).toBe(failure);
    },
  );

  it('is otherwise what it would be without the choice', () => {
    for (const meaning of meanings) {
      const failure = failureOf(meaning);
      const isOfTier = failure.result === AttemptResult.RATE_LIMITED || failure.result === AttemptResult.OVERLOADED;
      expect([meaning, failureOfChoice(failure) === failure]).toEqual([meaning, !isOfTier]);
    }
  });
});

describe('a refusal whose cause is unclear', () => {
  it.each([
    [400, 'upstream_rejected'],
    [413, 'upstream_rejected'],
    [422, 'upstream_rejected'],
    [402, 'providers_unavailable'],
    [403, 'providers_unavailable'],
  ])('with %i is the error %s', (upstreamStatus, code) => {
    const failure = toAttemptFailure({ meaning: 'refused', upstreamStatus, retryAtMs: undefined });
    expect(failure).toMatchObject({ result: AttemptResult.REFUSED, error: { code, upstreamStatus } });
  });
});
