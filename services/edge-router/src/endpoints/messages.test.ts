import { create } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import { readJsonBody } from '@gateway/json';
import { ExecuteResultSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { type Affinity, threadAffinity } from './affinity.ts';
import { messagesError, messagesHeaders } from './messages.ts';

describe('the version and beta headers of a Messages request', () => {
  const headersOf = (headersDistinct: Record<string, string[]>) => messagesHeaders({ headersDistinct });

  it('default to the first version and no beta', () => {
    expect(headersOf({ 'x-other': ['1'] })).toEqual({ 'partner-version': '2023-06-01' });
  });

  it('are read in both spellings; of two versions the partner’s wins, betas are joined once each', () => {
    expect(headersOf({ 'anthropic-version': ['2026-10-21'], 'anthropic-beta': ['a, b', 'c'] })).toEqual({
      'partner-version': '2026-10-21',
      'partner-beta': 'a,b,c',
    });
    expect(
      headersOf({
        'partner-version': ['2025-01-01'],
        'anthropic-version': ['2026-10-21'],
        'partner-beta': ['b,d'],
        'anthropic-beta': ['a,b'],
      }),
    ).toEqual({ 'partner-version': '2025-01-01', 'partner-beta': 'b,d,a' });
  });
});

describe('what a Messages client gets when no account answered', () => {
  const last = (result: AttemptResult, upstreamStatus: number, upstreamCode?: string) =>
    create(ExecuteResultSchema, {
      attempt: { result, upstreamStatus },
      error: { code: 'providers_unavailable', message: 'x', ...(upstreamCode === undefined ? {} : { upstreamCode }) },
    });
  const failed = { kind: 'failed' as const, error: new GatewayError('providers_unavailable', 'none left') };

  it("is the provider's status, when one answered", () => {
    expect(messagesError({ ...failed, last: last(AttemptResult.OVERLOADED, 529) })).toMatchObject({
      upstreamStatus: 529,
    });
    const rejected = last(AttemptResult.REJECTED, 404, 'thread_not_found');
    expect(messagesError({ ...failed, last: rejected })).toMatchObject({
      upstreamStatus: 404,
      upstreamCode: 'thread_not_found',
    });
  });

  it('has the adapter’s words for the kind of error, or the gateway’s own', () => {
    expect(messagesError({ ...failed, last: last(AttemptResult.OVERLOADED, 529) }).message).toBe('x');
    const wordless = create(ExecuteResultSchema, {
      attempt: { result: AttemptResult.OVERLOADED, upstreamStatus: 529 },
    });
    expect(messagesError({ ...failed, last: wordless }).message).toBe('none left');
  });

  it("is the provider's status when it refuses the account, but never 401", () => {
    for (const upstreamStatus of [402, 403]) {
      const refused = last(AttemptResult.UNAUTHORIZED, upstreamStatus);
      expect(messagesError({ ...failed, last: refused })).toMatchObject({ code: 'upstream_rejected', upstreamStatus });
    }
  });

  it('is that the pool is unavailable, in the same words, when none answered or none let us in', () => {
    const expected = { code: 'subscription_unavailable', message: 'none left' };
    expect(messagesError({ ...failed, last: undefined })).toMatchObject(expected);
    for (const [result, status] of [
      [AttemptResult.TIMEOUT, 0],
      [AttemptResult.UNAUTHORIZED, 401],
      [AttemptResult.UNAUTHORIZED, 400],
      [AttemptResult.NETWORK_ERROR, 401],
      [AttemptResult.NETWORK_ERROR, 403],
    ] as const) {
      expect(messagesError({ ...failed, last: last(result, status) })).toMatchObject(expected);
    }
  });

  it('says when a retry may succeed, if that is known', () => {
    const error = new GatewayError('providers_unavailable', 'none left', { retryAfterMs: 5 });
    expect(messagesError({ ...failed, error, last: undefined }).retryAfterMs).toBe(5);
    expect(messagesError({ ...failed, error, last: last(AttemptResult.SERVER_ERROR, 500) }).retryAfterMs).toBe(5);
  });

  it('is the gateway’s own word otherwise', () => {
    const exhausted = new GatewayError('pool_exhausted', 'limited', { retryAfterMs: 5 });
    const limited = last(AttemptResult.RATE_LIMITED, 429);
    expect(messagesError({ kind: 'failed', error: exhausted, last: limited })).toBe(exhausted);
    const unknown = new GatewayError('model_not_found', 'no');
    expect(messagesError({ kind: 'failed', error: unknown, last: undefined })).toBe(unknown);
  });
});

describe('the thread of a Messages request', () => {
  const bodyOf = (value: unknown) => readJsonBody(Buffer.from(JSON.stringify(value)));

  const session: Affinity = { affinityKey: 'session', answerKeysOf: () => ['by reasoning'] };

  it('brings a request to the account of the message that it continues', () => {
    const continued = bodyOf({ thread: { type: 'continue', previous_message_id: 'msg_1' } });
    const first = bodyOf({ thread: { type: 'create' } });
    const keys = threadAffinity('token', first, session).answerKeysOf?.({ answerId: 'msg_1', encryptedReasoning: '' });
    expect(keys).toContain(threadAffinity('token', continued, session).affinityKey);
    expect(keys).toContain('by reasoning');
    expect(keys).not.toContain(threadAffinity('another', continued, session).affinityKey);
  });

  it('leaves a request that continues nothing to its session', () => {
    for (const thread of [{ type: 'create' }, 'odd', null, { previous_message_id: 7 }]) {
      expect(threadAffinity('token', bodyOf({ thread }), session).affinityKey).toBe('session');
    }
  });

  it('is in use by its member alone', () => {
    expect(threadAffinity('token', bodyOf({}), session)).toBe(session);
  });
});
