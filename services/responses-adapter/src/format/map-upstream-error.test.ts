import type { UpstreamErrorAnswer } from '@gateway/adapter-kit';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mapUpstreamError } from './map-upstream-error.ts';

const { MODEL_UNAVAILABLE, RATE_LIMITED, UNAUTHORIZED, OVERLOADED, SERVER_ERROR, NETWORK_ERROR, TIMEOUT, REJECTED } =
  AttemptResult;
const nowMs = 1_795_132_800_000;

describe('mapUpstreamError', () => {
  it.each([
    [429, { code: 'rate_limit_exceeded' }, RATE_LIMITED, 'pool_exhausted'],
    [429, { code: 'insufficient_quota' }, UNAUTHORIZED, 'providers_unavailable'],
    [429, { type: 'usage_limit_reached' }, RATE_LIMITED, 'pool_exhausted'],
    [429, { type: 'usage_not_included' }, UNAUTHORIZED, 'providers_unavailable'],
    [429, { code: 'slow_down' }, OVERLOADED, 'providers_unavailable'],
    [429, {}, RATE_LIMITED, 'pool_exhausted'],
    [401, { code: 'invalid_api_key', type: 'invalid_request_error' }, UNAUTHORIZED, 'providers_unavailable'],
    [401, { code: null, type: 'invalid_request_error' }, UNAUTHORIZED, 'providers_unavailable'],
    [402, { code: 'deactivated_workspace' }, UNAUTHORIZED, 'providers_unavailable'],
    [403, { type: 'invalid_request_error' }, AttemptResult.REFUSED, 'providers_unavailable'],
    [403, { code: 'unsupported_country_region_territory' }, NETWORK_ERROR, 'providers_unavailable'],
    [400, { code: 'context_length_exceeded' }, REJECTED, 'upstream_rejected'],
    [400, { code: 'unsupported_value', type: 'invalid_request_error' }, REJECTED, 'upstream_rejected'],
    [400, { code: 'insufficient_quota' }, UNAUTHORIZED, 'providers_unavailable'],
    [429, { code: 'billing_hard_limit_reached' }, UNAUTHORIZED, 'providers_unavailable'],
    [413, {}, REJECTED, 'upstream_rejected'],
    [422, {}, REJECTED, 'upstream_rejected'],
    [404, { code: 'model_not_found', type: 'invalid_request_error' }, MODEL_UNAVAILABLE, 'model_not_found'],
    [403, { code: 'model_not_found', type: 'invalid_request_error' }, MODEL_UNAVAILABLE, 'model_not_found'],
    [400, { code: 'model_not_found', param: 'model' }, MODEL_UNAVAILABLE, 'model_not_found'],
    [400, { code: 'model_not_found', param: 'tools[0].model' }, REJECTED, 'upstream_rejected'],
    [410, {}, MODEL_UNAVAILABLE, 'model_not_found'],
    [404, { type: 'invalid_request_error', code: null }, REJECTED, 'upstream_rejected'],
    [
      404,
      { type: 'invalid_request_error', message: 'Invalid URL (POST /v2/responses)' },
      NETWORK_ERROR,
      'providers_unavailable',
    ],
    [407, {}, NETWORK_ERROR, 'providers_unavailable'],
    [
      429,
      { code: 'rate_limit_exceeded', message: 'Request too large for gpt-5.5 on tokens per min' },
      REJECTED,
      'upstream_rejected',
    ],
    [408, {}, TIMEOUT, 'providers_unavailable'],
    [409, {}, REJECTED, 'providers_unavailable'],
    [415, {}, REJECTED, 'upstream_rejected'],
    [500, { type: 'server_error' }, SERVER_ERROR, 'providers_unavailable'],
    [500, { type: 'invalid_request_error' }, SERVER_ERROR, 'providers_unavailable'],
    [503, { code: 'server_is_overloaded' }, OVERLOADED, 'providers_unavailable'],
    [503, {}, SERVER_ERROR, 'providers_unavailable'],
    [529, {}, OVERLOADED, 'providers_unavailable'],
    [302, {}, NETWORK_ERROR, 'providers_unavailable'],
  ])('makes of %i with %j the result %i and the code %s', (status, error, result, code) => {
    const failure = mapUpstreamError(answer({ status, body: { error: { message: 'their text', ...error } } }));
    expect(failure).toMatchObject({ result, upstreamStatus: status, error: { code } });
    expect(failure.error.message).not.toContain('their text');
  });

  it.each([
    [401, { code: 'token_revoked' }, AccountProblem.CREDENTIAL_REVOKED],
    [401, { code: 'token_invalidated' }, AccountProblem.CREDENTIAL_REVOKED],
    [401, { code: 'account_deactivated' }, AccountProblem.ACCOUNT_DISABLED],
    [402, { code: 'deactivated_workspace' }, AccountProblem.ACCOUNT_DISABLED],
    [403, { type: 'account_deactivated' }, AccountProblem.ACCOUNT_DISABLED],
    [429, { code: 'account_deactivated' }, AccountProblem.ACCOUNT_DISABLED],
    [401, { code: 'token_expired' }, AccountProblem.UNSPECIFIED],
    [401, { code: 'invalid_api_key' }, AccountProblem.UNSPECIFIED],
    [429, { type: 'usage_not_included' }, AccountProblem.UNSPECIFIED],
    [403, {}, AccountProblem.UNSPECIFIED],
    [500, { code: 'account_deactivated' }, AccountProblem.UNSPECIFIED],
  ])('takes an account out of service, or not, for %i with %j', (status, error, problem) => {
    const failure = mapUpstreamError(answer({ status, body: { error } }));
    expect(failure.problem).toBe(problem);
    if (problem !== AccountProblem.UNSPECIFIED) expect(failure.result).toBe(UNAUTHORIZED);
  });

  it('never takes an account out of service for a page from elsewhere', () => {
    const page = { status: 403, headers: { 'content-type': 'text/html' }, body: { error: { code: 'token_revoked' } } };
    expect(mapUpstreamError(answer(page))).toMatchObject({
      result: NETWORK_ERROR,
      problem: AccountProblem.UNSPECIFIED,
    });
  });

  it("answers a rejection with the provider's status, where the spec has it", () => {
    for (const [status, expected] of [
      [400, 400],
      [413, 413],
      [422, 422],
      [415, 400],
    ] as const) {
      expect(mapUpstreamError(answer({ status })).error.upstreamStatus).toBe(expected);
    }
  });

  it('reads the short errors of subscription backends by their status', () => {
    const failure = mapUpstreamError(answer({ status: 400, body: { detail: 'Unsupported parameter: user' } }));
    expect(failure).toMatchObject({ result: REJECTED, error: { message: 'The provider rejected the request.' } });
  });

  it('blames the network, not the account, for a page', () => {
    const page = Buffer.from('\n<!DOCTYPE html><title>Just a moment...</title>');
    expect(mapUpstreamError({ ...answer({ status: 403 }), body: page })).toMatchObject({ result: NETWORK_ERROR });
    const html = { 'content-type': 'text/html; charset=UTF-8' };
    expect(mapUpstreamError({ ...answer({ status: 403, headers: html }), body: Buffer.from('') })).toMatchObject({
      result: NETWORK_ERROR,
    });
    expect(mapUpstreamError({ ...answer({ status: 413 }), body: page })).toMatchObject({ result: REJECTED });
    expect(mapUpstreamError({ ...answer({ status: 502 }), body: page })).toMatchObject({ result: SERVER_ERROR });
  });

  it('confines a limit to the model when it is kept per model, and not when a window of the account is used up', () => {
    const body = { error: { code: 'rate_limit_exceeded', type: 'tokens' } };
    expect(mapUpstreamError(answer({ status: 429, body })).modelScoped).toBe(true);
    expect(mapUpstreamError(answer({ status: 429 })).modelScoped).toBe(false);
    const headers = { 'x-codex-primary-used-percent': '100.0', 'x-codex-primary-reset-after-seconds': '60' };
    expect(mapUpstreamError(answer({ status: 429, body, headers })).modelScoped).toBe(false);
  });

  it.each<[string, Record<string, string>, object, number | undefined]>([
    ['retry-after-ms', { 'retry-after-ms': '1500', 'retry-after': '9' }, {}, 1_500],
    ['retry-after in seconds', { 'retry-after': '9' }, { resets_in_seconds: 60 }, 9_000],
    ['retry-after as a date', { 'retry-after': new Date(nowMs + 30_000).toUTCString() }, {}, 30_000],
    ['resets_at', {}, { resets_at: nowMs / 1_000 + 3_600, resets_in_seconds: 5 }, 3_600_000],
    ['resets_in_seconds', {}, { resets_in_seconds: 90 }, 90_000],
    [
      'the used-up window, however full the other is',
      {
        'x-codex-primary-used-percent': '99.9',
        'x-codex-primary-reset-at': String(nowMs / 1_000 + 9_000),
        'x-codex-secondary-used-percent': '100',
        'x-codex-secondary-reset-at': String(nowMs / 1_000 + 7_200),
      },
      {},
      7_200_000,
    ],
    [
      'the later of two used-up windows, of a model family too',
      {
        'x-codex-bengalfox-primary-used-percent': '100',
        'x-codex-bengalfox-primary-reset-after-seconds': '600',
        'x-codex-primary-used-percent': '100',
        'x-codex-primary-reset-after-seconds': '60',
      },
      {},
      600_000,
    ],
    [
      "the used-up limit of an API key, as Go's durations",
      {
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '7h49m35s',
        'x-ratelimit-remaining-tokens': '900',
        'x-ratelimit-reset-tokens': '9h0m0s',
      },
      {},
      28_175_000,
    ],
    ['a duration in milliseconds', { 'x-ratelimit-reset-tokens': '12ms' }, {}, 12],
    ['a duration with a fraction', { 'x-ratelimit-reset-tokens': '1m6.5s' }, {}, 66_500],
    ['nothing that has passed', { 'retry-after': '0' }, { resets_at: nowMs / 1_000 - 5 }, undefined],
    ['nothing unreadable', { 'retry-after': 'soon', 'x-ratelimit-reset-tokens': '1 hour' }, {}, undefined],
  ])('reads from a 429 %s', (_, headers, error, waitMs) => {
    const failure = mapUpstreamError(answer({ status: 429, headers, body: { error } }));
    const expected = waitMs === undefined ? undefined : nowMs + waitMs;
    expect(failure.retryAtMs).toBe(expected);
    expect(failure.error.retryAfterMs === undefined).toBe(expected === undefined);
  });

  it('never throws, and never names a time that has passed', () => {
    const headerNames = ['retry-after', 'retry-after-ms', 'x-ratelimit-reset-tokens', 'x-codex-primary-used-percent'];
    const headers = fc.dictionary(fc.constantFrom(...headerNames, 'x-codex-primary-reset-at'), fc.string());
    const body = fc.oneof(fc.uint8Array(), fc.json().map(Buffer.from));
    fc.assert(
      fc.property(fc.integer({ min: 300, max: 599 }), headers, body, (status, values, bytes) => {
        const { retryAtMs = nowMs + 1 } = mapUpstreamError({ status, headers: values, body: bytes, nowMs });
        expect(retryAtMs).toBeGreaterThan(nowMs);
      }),
      { numRuns: 300 },
    );
  });
});

interface AnswerMembers {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

function answer({ status, headers = {}, body = {} }: AnswerMembers): UpstreamErrorAnswer {
  const allHeaders = { 'content-type': 'application/json', ...headers };
  return { status, headers: allHeaders, body: Buffer.from(JSON.stringify(body)), nowMs };
}
