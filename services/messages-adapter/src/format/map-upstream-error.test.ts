import type { UpstreamErrorAnswer } from '@gateway/adapter-kit';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mapStreamError, mapUpstreamError } from './map-upstream-error.ts';

const nowMs = Date.UTC(2026, 10, 20, 12);
const nowSeconds = nowMs / 1_000;

const { UNSPECIFIED, CREDENTIAL_REVOKED, ACCOUNT_DISABLED } = AccountProblem;

describe('an account that is out of service', () => {
  it.each([
    [403, 'permission_error', 'OAuth token has been revoked. Please obtain a new token.', CREDENTIAL_REVOKED],
    [401, 'authentication_error', 'OAuth token has been revoked.', CREDENTIAL_REVOKED],
    [400, 'invalid_request_error', 'This organization has been disabled.', ACCOUNT_DISABLED],
    [403, 'permission_error', 'Your account has been suspended.', ACCOUNT_DISABLED],
    [400, 'invalid_request_error', 'Identity verification is required.', ACCOUNT_DISABLED],
    [401, 'authentication_error', 'OAuth token has expired.', UNSPECIFIED],
    [401, 'authentication_error', 'invalid x-api-key', UNSPECIFIED],
    [400, 'invalid_request_error', 'Your credit balance is too low to access the API.', UNSPECIFIED],
    [400, 'invalid_request_error', 'messages.1: This organization has been disabled.', UNSPECIFIED],
  ])('is known by %i %s %s', (status, type, message, problem) => {
    const body = new TextEncoder().encode(JSON.stringify({ type: 'error', error: { type, message } }));
    expect(mapUpstreamError({ status, headers: {}, body, nowMs }).problem).toBe(problem);
  });
});

describe('mapUpstreamError', () => {
  it.each<[number, string, string, AttemptResult, string]>([
    [
      400,
      'invalid_request_error',
      'messages: text content blocks must be non-empty',
      AttemptResult.REJECTED,
      'upstream_rejected',
    ],
    [
      400,
      'invalid_request_error',
      'This organization has been disabled.',
      AttemptResult.UNAUTHORIZED,
      'providers_unavailable',
    ],
    [
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the API.',
      AttemptResult.UNAUTHORIZED,
      'providers_unavailable',
    ],
    [
      400,
      'invalid_request_error',
      'You have reached your specified API usage limits.',
      AttemptResult.UNAUTHORIZED,
      'providers_unavailable',
    ],
    [
      400,
      'invalid_request_error',
      'messages.0: "Your credit balance is too low"',
      AttemptResult.REJECTED,
      'upstream_rejected',
    ],
    [401, 'authentication_error', 'invalid x-api-key', AttemptResult.UNAUTHORIZED, 'providers_unavailable'],
    [402, 'billing_error', 'Payment required', AttemptResult.UNAUTHORIZED, 'providers_unavailable'],
    [403, 'permission_error', 'OAuth token lacks scope', AttemptResult.UNAUTHORIZED, 'providers_unavailable'],
    [404, 'not_found_error', 'model: claude-9', AttemptResult.MODEL_UNAVAILABLE, 'model_not_found'],
    [410, 'not_found_error', 'model: claude-2', AttemptResult.MODEL_UNAVAILABLE, 'model_not_found'],
    [404, 'not_found_error', 'File not found: file_1', AttemptResult.REJECTED, 'upstream_rejected'],
    [404, '', 'no such thread', AttemptResult.REJECTED, 'upstream_rejected'],
    [404, 'not_found_error', 'Not found', AttemptResult.NETWORK_ERROR, 'providers_unavailable'],
    [407, '', 'who are you', AttemptResult.NETWORK_ERROR, 'providers_unavailable'],
    [408, '', 'timeout', AttemptResult.TIMEOUT, 'providers_unavailable'],
    [409, 'conflict_error', 'conflict', AttemptResult.REJECTED, 'providers_unavailable'],
    [413, 'request_too_large', 'request exceeds the maximum size', AttemptResult.REJECTED, 'upstream_rejected'],
    [422, 'invalid_request_error', 'unprocessable', AttemptResult.REJECTED, 'upstream_rejected'],
    [429, 'rate_limit_error', 'your account hit a limit', AttemptResult.RATE_LIMITED, 'pool_exhausted'],
    [429, 'overloaded_error', 'Overloaded', AttemptResult.OVERLOADED, 'providers_unavailable'],
    [500, 'api_error', 'Internal', AttemptResult.SERVER_ERROR, 'providers_unavailable'],
    [503, 'overloaded_error', 'Overloaded', AttemptResult.OVERLOADED, 'providers_unavailable'],
    [504, 'timeout_error', 'Timed out', AttemptResult.SERVER_ERROR, 'providers_unavailable'],
    [529, 'overloaded_error', 'Overloaded', AttemptResult.OVERLOADED, 'providers_unavailable'],
    [302, '', '', AttemptResult.NETWORK_ERROR, 'providers_unavailable'],
    [418, '', '', AttemptResult.REJECTED, 'upstream_rejected'],
  ])('%i %s "%s"', (status, type, message, result, code) => {
    const failure = mapUpstreamError(answer(status, { type: 'error', error: { type, message } }));
    expect(failure).toMatchObject({ result, upstreamStatus: status, modelScoped: false, error: { code } });
    if (message !== '') expect(failure.error.message).not.toContain(message);
  });

  it.each([400, 413, 422])('gives a rejection the provider status %i', (status) => {
    expect(mapUpstreamError(answer(status, {})).error).toMatchObject({
      code: 'upstream_rejected',
      upstreamStatus: status,
    });
  });

  it('gives other refusals of a request a status that clients expect', () => {
    expect(mapUpstreamError(answer(418, {})).error.upstreamStatus).toBe(400);
  });

  it('says that a conversation is too long, in words of its own', () => {
    const error = { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' };
    const failure = mapUpstreamError(answer(400, { type: 'error', error }));
    expect(failure.error.message).toContain('context window');
    expect(failure.error.message).not.toContain('210000');
  });

  it.each([
    [404, 'not_found_error', 'thread_not_found'],
    [400, 'invalid_request_error', 'compaction_signature_invalid'],
    [429, 'rate_limit_error', 'ramp_limit_exceeded'],
    [529, 'overloaded_error', 'compaction_unavailable'],
  ])('keeps a code on which clients act: %i %s %s', (status, type, code) => {
    const failure = (error_code: unknown) =>
      mapUpstreamError(answer(status, { type: 'error', error: { type, details: { error_code } } }));
    expect(failure(code)).toMatchObject({ upstreamStatus: status, error: { upstreamCode: code } });
    for (const other of ['thread_not_found: of jane@example.com', 'compaction_of_acme', 7, null]) {
      expect(failure(other).error.upstreamCode).toBeUndefined();
    }
  });

  it.each([
    [{ 'content-type': 'text/html; charset=UTF-8' }, 'Attention Required!'],
    [{}, '  <!DOCTYPE html><title>Just a moment...</title>'],
  ])('blames the network, not the account, for a page in place of an answer', (headers, body) => {
    expect(mapUpstreamError(answer(403, body, headers)).result).toBe(AttemptResult.NETWORK_ERROR);
    expect(mapUpstreamError(answer(502, body, headers)).result).toBe(AttemptResult.SERVER_ERROR);
  });

  it('takes any bytes and headers without throwing', () => {
    fc.assert(
      fc.property(fc.nat(999), fc.uint8Array(), fc.dictionary(anyHeaderName, fc.string()), (status, body, headers) => {
        const failure = mapUpstreamError({ status, headers, body, nowMs });
        expect(failure.retryAtMs ?? Number.POSITIVE_INFINITY).toBeGreaterThan(nowMs);
      }),
    );
  });
});

describe('a refusal', () => {
  it.each([
    [402, 'billing_error', 'The organization of this user profile has no credit.', 'refused'],
    [402, 'billing_error', 'There is an issue with your billing or payment information.', 'no_credit'],
    [403, 'permission_error', 'The container belongs to another workspace.', 'refused'],
    [403, 'permission_error', 'OAuth token does not meet scope requirement.', 'refused_account'],
    [403, 'permission_error', 'Your credit balance is too low.', 'no_credit'],
    [403, 'authentication_error', 'Invalid API key.', 'refused_account'],
    [403, 'novel_error', '', 'refused'],
    [400, 'invalid_request_error', 'Access to the web search tool is not allowed for this organization.', 'refused'],
    [400, 'invalid_request_error', 'Your organization does not have access to code execution.', 'refused'],
    [400, 'invalid_request_error', 'Your plan does not include this.', 'refused_account'],
    [400, 'invalid_request_error', 'Fast mode is not enabled for your organization.', 'unavailable_choice'],
    [429, 'rate_limit_error', 'Usage credits are required for fast mode.', 'unavailable_choice'],
    [429, 'rate_limit_error', 'Usage credits are required for this model.', 'model_limited'],
    [
      429,
      'rate_limit_error',
      "This request would exceed your organization's rate limit of 0 fast mode input tokens per minute.",
      'unavailable_choice',
    ],
    [429, 'rate_limit_error', 'This request would exceed your rate limit of 50 requests per minute.', 'limited'],
  ])('concerns the account only if it says so: %i %s "%s"', (status, type, message, meaning) => {
    expect(mapUpstreamError(answer(status, { type: 'error', error: { type, message } })).meaning).toBe(meaning);
  });

  it('names when the chosen tier is available to the client, and no pause of the account', () => {
    const message = 'Usage credits are required for fast mode.';
    const body = { type: 'error', error: { type: 'rate_limit_error', message } };
    const failure = mapUpstreamError(answer(429, body, { 'retry-after': '9' }));
    expect([failure.retryAtMs, failure.error.retryAfterMs]).toEqual([undefined, expect.any(Number)]);
  });
});

describe('a 429', () => {
  it.each<[string, Record<string, string>, number | undefined, boolean]>([
    ['says nothing', {}, undefined, false],
    ['names seconds', { 'retry-after': '42' }, 42, false],
    ['names milliseconds', { 'retry-after-ms': '1500', 'retry-after': '60' }, 1.5, false],
    ['names a date', { 'retry-after': 'Fri, 20 Nov 2026 12:01:00 GMT' }, 60, false],
    ['names a time that has passed', { 'retry-after': '0' }, undefined, false],
    ['has a subscription rejected', unified({ status: 'rejected', reset: nowSeconds + 900 }), 900, false],
    ['names the time in milliseconds', unified({ status: 'rejected', reset: nowMs + 900_000 }), 900, false],
    [
      'has the five-hour window rejected',
      unified({
        status: 'rejected',
        reset: nowSeconds + 9,
        '5h-status': 'rejected',
        '5h-reset': nowSeconds + 3_600,
        '7d-status': 'allowed',
        '7d-reset': nowSeconds + 9_999,
      }),
      3_600,
      false,
    ],
    [
      'has both windows rejected',
      unified({
        status: 'rejected',
        '5h-status': 'rejected',
        '5h-reset': nowSeconds + 3_600,
        '7d-status': 'rejected',
        '7d-reset': nowSeconds + 86_400,
      }),
      86_400,
      false,
    ],
    [
      'has a window of a model family rejected',
      unified({
        status: 'rejected',
        '7d-status': 'allowed',
        '7d_sonnet-status': 'rejected',
        '7d_sonnet-reset': nowSeconds + 7_200,
      }),
      7_200,
      true,
    ],
    [
      'has windows of the account and of a family rejected',
      unified({
        status: 'rejected',
        '5h-status': 'rejected',
        '5h-reset': nowSeconds + 60,
        '7d_oi-status': 'rejected',
        '7d_oi-reset': nowSeconds + 7_200,
      }),
      60,
      false,
    ],
    [
      'claims a window of a model family',
      unified({ status: 'rejected', reset: nowSeconds + 600, 'representative-claim': 'seven_day_opus' }),
      600,
      true,
    ],
    [
      'names a time that no window reaches',
      unified({ status: 'rejected', '5h-status': 'rejected', '5h-reset': nowSeconds + 86_400 }),
      6 * 3_600,
      false,
    ],
    [
      'passes, within the windows',
      {
        ...unified({ status: 'allowed_warning', reset: nowSeconds + 9_000, '5h-status': 'rejected' }),
        'retry-after': '5',
      },
      5,
      false,
    ],
    [
      'waits longer than its window says',
      { ...unified({ status: 'rejected', '5h-status': 'rejected', '5h-reset': nowSeconds + 60 }), 'retry-after': '90' },
      90,
      false,
    ],
    [
      'has a limit of a key used up',
      keyLimits({
        'input-tokens-remaining': '0',
        'input-tokens-reset': '2026-11-20T12:00:30Z',
        'requests-remaining': '7',
        'requests-reset': '2026-11-20T12:05:00Z',
      }),
      30,
      true,
    ],
    [
      'has limits of a key left',
      keyLimits({ 'requests-remaining': '7', 'requests-reset': '2026-11-20T12:05:00Z' }),
      undefined,
      false,
    ],
  ])('that %s', (_, headers, seconds, modelScoped) => {
    const failure = mapUpstreamError(answer(429, { type: 'error', error: { type: 'rate_limit_error' } }, headers));
    const retryAtMs = seconds === undefined ? undefined : nowMs + seconds * 1_000;
    expect(failure).toMatchObject({ result: AttemptResult.RATE_LIMITED, modelScoped });
    expect(failure.retryAtMs).toBe(retryAtMs);
    expect(failure.error.retryAfterMs === undefined).toBe(retryAtMs === undefined);
  });
});

describe('mapStreamError', () => {
  it.each<[string, AttemptResult, string, number | undefined]>([
    ['overloaded_error', AttemptResult.OVERLOADED, 'providers_unavailable', undefined],
    ['rate_limit_error', AttemptResult.RATE_LIMITED, 'pool_exhausted', undefined],
    ['authentication_error', AttemptResult.UNAUTHORIZED, 'providers_unavailable', undefined],
    ['permission_error', AttemptResult.REFUSED, 'providers_unavailable', undefined],
    ['billing_error', AttemptResult.REFUSED, 'providers_unavailable', undefined],
    ['timeout_error', AttemptResult.TIMEOUT, 'providers_unavailable', undefined],
    ['api_error', AttemptResult.SERVER_ERROR, 'providers_unavailable', undefined],
    ['novel_error', AttemptResult.SERVER_ERROR, 'providers_unavailable', undefined],
    ['invalid_request_error', AttemptResult.REJECTED, 'upstream_rejected', 400],
    ['request_too_large', AttemptResult.REJECTED, 'upstream_rejected', 413],
    ['not_found_error', AttemptResult.REJECTED, 'upstream_rejected', 400],
  ])('%s', (type, result, code, upstreamStatus) => {
    const failure = mapStreamError({ type: 'error', error: { type, message: 'PROVIDER TEXT' } });
    expect(failure).toMatchObject({ result, upstreamStatus: 0, error: { code } });
    expect(failure.error.upstreamStatus).toBe(upstreamStatus);
    expect(failure.error.message).not.toContain('PROVIDER');
  });

  it('takes an event without an error in it as a fault of the provider', () => {
    expect(mapStreamError({ type: 'error' }).result).toBe(AttemptResult.SERVER_ERROR);
  });
});

const anyHeaderName = fc.constantFrom(
  'retry-after',
  'content-type',
  'anthropic-ratelimit-unified-status',
  'anthropic-ratelimit-unified-reset',
  'anthropic-ratelimit-unified-5h-reset',
  'anthropic-ratelimit-tokens-remaining',
  'anthropic-ratelimit-tokens-reset',
);

function answer(status: number, body: unknown, headers: Record<string, string> = {}): UpstreamErrorAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, headers, body: Buffer.from(text), nowMs };
}

function unified(values: Record<string, string | number>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`anthropic-ratelimit-unified-${name}`, String(value)]),
  );
}

function keyLimits(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`anthropic-ratelimit-${name}`, value]));
}
