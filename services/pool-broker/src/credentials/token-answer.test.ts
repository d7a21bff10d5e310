import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { toTokenAnswer } from './token-endpoint.ts';

const answerOf = (status: number, json: unknown, retryAfter?: string) =>
  toTokenAnswer(status, JSON.stringify(json), 1_000, retryAfter);

describe('the answer of a token endpoint', () => {
  it('has new tokens, which live from the time of the question', () => {
    const answer = answerOf(200, { access_token: 'at', refresh_token: 'rt', token_type: 'bearer', expires_in: 60 });
    if (answer.kind !== 'tokens') expect.fail(answer.kind);
    expect(answer.accessToken.reveal()).toBe('at');
    expect(answer.refreshToken?.reveal()).toBe('rt');
    expect(answer.expiresAtMs).toBe(61_000);
  });

  it('may leave the refresh token as it is, and say nothing of the type', () => {
    expect(answerOf(200, { access_token: 'at', expires_in: '60' })).toMatchObject({
      kind: 'tokens',
      refreshToken: undefined,
      expiresAtMs: 61_000,
    });
    expect(answerOf(200, { access_token: 'at', refresh_token: null }).kind).toBe('tokens');
  });

  it.each([[undefined], [null], [0], [-5], ['soon'], [1e12]])(
    'is asked for again soon when the token lives %s seconds',
    (expires_in) => {
      expect(answerOf(200, { access_token: 'at', expires_in })).toMatchObject({ expiresAtMs: 601_000 });
    },
  );

  it.each([
    ['no token', {}],
    ['a token that can not be sent', { access_token: 'a\r\nb' }],
    ['a token of another type', { access_token: 'a', token_type: 'mac' }],
    ['no object', 'tokens'],
  ])('is of no use with %s', (_what, json) => {
    expect(answerOf(200, json)).toMatchObject({ kind: 'failed', mayHaveCounted: true });
  });

  it.each([400, 401, 403])('says with status %i that the refresh token is no good', (status) => {
    expect(answerOf(status, { error: 'invalid_grant' })).toEqual({ kind: 'invalid_grant' });
  });

  it.each([
    [401, { error: 'invalid_client' }, 'HTTP 401, invalid_client'],
    [400, { error: 'invalid_scope', error_description: 'rt-canary' }, 'HTTP 400, invalid_scope'],
    [400, { error: 'rt-canary' }, 'HTTP 400'],
    [302, {}, 'HTTP 302'],
    [404, 'rt-canary', 'HTTP 404'],
  ])('with status %i and %j is a refusal that a person looks at', (status, json, reason) => {
    const refusal = { kind: 'failed', reason: `the token endpoint refuses: ${reason}`, retryAfterMs: 300_000 };
    expect(answerOf(status, json)).toEqual({ ...refusal, mayHaveCounted: false });
  });

  it.each([
    [429, '7', 7_000],
    [503, '120', 120_000],
    [500, undefined, 0],
    [503, 'Wed, 21 Oct 2026 07:28:00 GMT', 0],
  ])('with status %i is a fault that may pass', (status, retryAfter, retryAfterMs) => {
    const answer = answerOf(status, { error: 'invalid_grant' }, retryAfter);
    expect(answer).toMatchObject({ kind: 'failed', reason: `the token endpoint fails: HTTP ${status}`, retryAfterMs });
  });

  it('repeats nothing of what the endpoint wrote, and shows no token', () => {
    const tokens = answerOf(200, { access_token: 'at-canary', refresh_token: 'rt-canary' });
    const text = answerOf(400, { error: 'x-canary', error_description: 'd-canary' });
    expect(inspect([tokens, text], { depth: null })).not.toContain('canary');
    expect(JSON.stringify([tokens, text])).not.toContain('canary');
  });
});
