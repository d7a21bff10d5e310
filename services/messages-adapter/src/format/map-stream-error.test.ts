import type Anthropic from '@anthropic-ai/sdk';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mapStreamError } from './map-upstream-error.ts';

/**
 * All types of the provider's client library: a type that a new version adds must be entered here.
 */
const results = {
  invalid_request_error: AttemptResult.REJECTED,
  not_found_error: AttemptResult.REJECTED,
  authentication_error: AttemptResult.UNAUTHORIZED,
  permission_error: AttemptResult.REFUSED,
  billing_error: AttemptResult.REFUSED,
  rate_limit_error: AttemptResult.RATE_LIMITED,
  overloaded_error: AttemptResult.OVERLOADED,
  timeout_error: AttemptResult.TIMEOUT,
  api_error: AttemptResult.SERVER_ERROR,
  conflict_error: AttemptResult.REJECTED,
  memory_precondition_failed_error: AttemptResult.SERVER_ERROR,
  memory_path_conflict_error: AttemptResult.SERVER_ERROR,
} satisfies Record<Anthropic.ErrorType | Anthropic.Beta.BetaErrorObject['type'], AttemptResult>;

describe('mapStreamError', () => {
  it.each(Object.entries(results))('%s is result %i', (type, result) => {
    expect(mapStreamError({ type: 'error', error: { type, message: '' } })).toMatchObject({
      result,
      upstreamStatus: 0,
      retryAtMs: undefined,
      modelScoped: false,
    });
  });

  it('keeps codes on which client libraries act, and no others', () => {
    expect(codeOf('thread_not_found')).toBe('thread_not_found');
    expect(codeOf('novelty')).toBeUndefined();
    expect(codeOf(7)).toBeUndefined();
  });

  it("passes none of the provider's words on", () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(results)), fc.constantFrom('type', 'message'), (type, member) => {
        const error = { type, message: 'PROVIDER TEXT', [member]: `${type} PROVIDER TEXT` };
        const failure = mapStreamError({ type: 'error', error });
        expect(`${JSON.stringify(failure)} ${failure.error.message}`).not.toContain('PROVIDER TEXT');
      }),
    );
  });

  it('takes anything else for a fault of the provider', () => {
    fc.assert(
      fc.property(fc.anything(), (event) => {
        expect(mapStreamError(event).result).toBe(AttemptResult.SERVER_ERROR);
      }),
    );
  });
});

function codeOf(code: unknown): string | undefined {
  const error = { type: 'not_found_error', message: '', details: { error_code: code } };
  return mapStreamError({ type: 'error', error }).error.upstreamCode;
}
