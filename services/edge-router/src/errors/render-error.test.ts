import { GatewayError } from '@gateway/errors';
import { describe, expect, it } from 'vitest';
import { renderError, renderStreamError } from './render-error.ts';

const now = Date.parse('2026-11-20T12:00:00.000Z');

describe('renderError', () => {
  it('writes the chat shape: code and message', () => {
    const { status, headers, body } = renderError(new GatewayError('model_not_found', 'No such model.'), 'chat', now);
    expect(status).toBe(404);
    expect(headers).toEqual({ 'content-type': 'application/json; charset=utf-8' });
    expect(JSON.parse(body)).toEqual({ error: { code: 'model_not_found', message: 'No such model.' } });
  });

  it('writes the Messages shape: the type for the status instead of a code', () => {
    const of = (error: GatewayError) => JSON.parse(renderError(error, 'messages', now).body);
    expect(of(new GatewayError('unauthorized', 'No.'))).toEqual({
      type: 'error',
      error: { type: 'authentication_error', message: 'No.' },
    });
    expect(of(new GatewayError('method_not_allowed', 'No.')).error.type).toBe('api_error');
    expect(of(new GatewayError('body_too_large', 'No.')).error.type).toBe('request_too_large');
    expect(of(new GatewayError('rate_limit_exceeded', 'No.')).error.type).toBe('rate_limit_error');
  });

  it("answers a provider's error on Messages with its status and a generic body", () => {
    const error = new GatewayError('upstream_rejected', 'The model provider returned an error.', {
      upstreamStatus: 529,
      upstreamCode: 'thread_not_found',
    });
    const { status, body } = renderError(error, 'messages', now);
    expect(status).toBe(529);
    expect(JSON.parse(body)).toEqual({
      type: 'error',
      error: {
        type: 'api_error',
        code: 'subscription_upstream_error',
        message: 'The model provider returned an error.',
        details: { error_code: 'thread_not_found' },
      },
    });
  });

  it('adds the limit, retryAt and a retry-after that is rounded up to a 429', () => {
    const error = new GatewayError('rate_limit_exceeded', 'Too many.', {
      limit: 'requests_per_minute',
      retryAfterMs: 41_001,
    });
    const { status, headers, body } = renderError(error, 'chat', now);
    expect(status).toBe(429);
    expect(headers['retry-after']).toBe('42');
    expect(headers).not.toHaveProperty('x-should-retry');
    expect(JSON.parse(body).error).toMatchObject({ limit: 'requests_per_minute', retryAt: '2026-11-20T12:00:41.001Z' });
  });

  it('never asks to retry after less than a second', () => {
    const error = new GatewayError('pool_exhausted', 'All limited.', { retryAfterMs: 0 });
    expect(renderError(error, 'chat', now).headers['retry-after']).toBe('1');
  });

  it('says when to retry also with a 503, if it is known', () => {
    const error = new GatewayError('providers_unavailable', 'None usable.', { retryAfterMs: 1_500 });
    const { status, headers, body } = renderError(error, 'chat', now);
    expect([status, headers['retry-after']]).toEqual([503, '2']);
    expect(JSON.parse(body).error).toEqual({ code: 'providers_unavailable', message: 'None usable.' });
  });

  it('keeps SDKs from sleeping a day away', () => {
    const error = new GatewayError('rate_limit_exceeded', 'Spent.', {
      limit: 'tokens_per_day',
      retryAfterMs: 30_000_000,
    });
    expect(renderError(error, 'chat', now).headers['x-should-retry']).toBe('false');
  });

  it('speaks to Codex on the Responses endpoint', () => {
    const error = new GatewayError('pool_exhausted', 'All limited.', { retryAfterMs: 500 });
    expect(JSON.parse(renderError(error, 'responses', now).body).error).toMatchObject({
      type: 'usage_limit_reached',
      resets_at: now / 1_000 + 1,
    });
  });

  it("answers a refusal of the provider with the provider's status", () => {
    const error = new GatewayError('upstream_rejected', 'Refused.', { upstreamStatus: 422 });
    expect(renderError(error, 'chat', now).status).toBe(422);
  });
});

describe('an error that trying again cannot mend', () => {
  it('says so to client libraries', () => {
    const { status, headers } = renderError(new GatewayError('internal_error', 'no', { isFinal: true }), 'chat', now);
    expect([status, headers['x-should-retry']]).toEqual([500, 'false']);
    expect(renderError(new GatewayError('internal_error', 'no'), 'chat', now).headers).not.toHaveProperty(
      'x-should-retry',
    );
  });
});

describe('renderStreamError', () => {
  const error = new GatewayError('providers_unavailable', 'The answer ended before it was complete.');
  const stream = { id: 'resp_7', createdAt: 1_700_000_000, model: 'gpt-5.5', nextSequenceNumber: 42 };

  it('is one data event on chat streams and an error event on Messages streams', () => {
    expect(renderStreamError(error, 'chat', stream)).toBe(
      'data: {"error":{"code":"providers_unavailable","message":"The answer ended before it was complete."}}\n\n',
    );
    expect(renderStreamError(error, 'messages', stream)).toMatch(/^event: error\ndata: \{"type":"error".*\}\n\n$/);
  });

  const dataOf = (event: string) => JSON.parse(event.split('data: ')[1] ?? '');

  it('is a failed response on Responses streams', () => {
    const event = renderStreamError(error, 'responses', stream);
    expect(event).toMatch(/^event: response\.failed\ndata: .*\n\n$/);
    expect(dataOf(event)).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'server_error', message: 'The answer ended before it was complete.' },
      },
    });
  });

  it('is the next event of the response that the client has seen', () => {
    expect(dataOf(renderStreamError(error, 'responses', stream))).toMatchObject({
      sequence_number: 42,
      response: { id: 'resp_7', created_at: 1_700_000_000, model: 'gpt-5.5' },
    });
  });
});
