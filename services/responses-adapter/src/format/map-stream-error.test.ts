import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { mapStreamError } from './map-upstream-error.ts';

describe('mapStreamError', () => {
  it.each([
    ['rate_limit_exceeded', AttemptResult.RATE_LIMITED, 'pool_exhausted'],
    ['insufficient_quota', AttemptResult.UNAUTHORIZED, 'providers_unavailable'],
    ['usage_limit_reached', AttemptResult.RATE_LIMITED, 'pool_exhausted'],
    ['usage_not_included', AttemptResult.UNAUTHORIZED, 'providers_unavailable'],
    ['server_error', AttemptResult.SERVER_ERROR, 'providers_unavailable'],
    ['vector_store_timeout', AttemptResult.SERVER_ERROR, 'providers_unavailable'],
    ['something_new', AttemptResult.SERVER_ERROR, 'providers_unavailable'],
    ['server_is_overloaded', AttemptResult.OVERLOADED, 'providers_unavailable'],
    ['slow_down', AttemptResult.OVERLOADED, 'providers_unavailable'],
    ['context_length_exceeded', AttemptResult.REJECTED, 'upstream_rejected'],
    ['invalid_prompt', AttemptResult.REJECTED, 'upstream_rejected'],
    ['cyber_policy', AttemptResult.REJECTED, 'upstream_rejected'],
    ['image_too_large', AttemptResult.REJECTED, 'upstream_rejected'],
    ['data_residency_mismatch', AttemptResult.REJECTED, 'upstream_rejected'],
  ])('makes of %s, flat or nested, the result %i and the code %s', (code, result, publicCode) => {
    const message = 'text of the provider';
    for (const event of [
      { code, message, param: null },
      { type: 'error', error: { code, message, type: null } },
      { type: 'error', error: { type: code, message, code: null } },
    ]) {
      const failure = mapStreamError(event, { nowMs: 0, exhaustedUntilMs: undefined });
      expect(failure).toMatchObject({ result, upstreamStatus: 0, error: { code: publicCode } });
      expect(failure.error.message).not.toContain(message);
      expect(failure.error.upstreamStatus).toBe(publicCode === 'upstream_rejected' ? 400 : undefined);
    }
  });

  it('reads the reset in the error, else takes that of the used-up windows', () => {
    const code = 'usage_limit_reached';
    const resetOf = (error: object, exhaustedUntilMs?: number) =>
      mapStreamError({ code, ...error }, { nowMs: 1_000, exhaustedUntilMs }).retryAtMs;
    expect(resetOf({ resets_at: 50, resets_in_seconds: 7 }, 9_000)).toBe(50_000);
    expect(resetOf({ resets_in_seconds: 7 })).toBe(8_000);
    expect(resetOf({}, 9_000)).toBe(9_000);
    expect(resetOf({ resets_at: 'soon' })).toBeUndefined();
  });
});
