import { describe, expect, it } from 'vitest';
import { UpstreamError } from '../upstream/upstream-exchange.ts';
import { failureCause, unexpectedAnswerCause } from './failure-cause.ts';

const causeOf = (details: Readonly<Record<string, unknown>>, message = 'connect failed') =>
  failureCause(
    new UpstreamError('network', 'The connection failed.', { cause: Object.assign(new Error(message), details) }),
  );

describe('why a provider did not answer', () => {
  it.each([
    [{ code: 'ECONNREFUSED', address: '10.0.0.7', port: 443 }, 'connection refused by 10.0.0.7:443'],
    [{ code: 'ENOTFOUND', hostname: 'api.invalid' }, 'api.invalid has no address (DNS)'],
    [{ code: 'EAI_AGAIN', hostname: 'api.example' }, 'DNS does not answer for api.example'],
    [{ code: 'UND_ERR_CONNECT_TIMEOUT' }, 'no connection to the provider in time'],
    [{ code: 'UND_ERR_SOCKET' }, 'the connection closed before the answer'],
    [{ code: 'CERT_HAS_EXPIRED' }, 'TLS failed (CERT_HAS_EXPIRED)'],
    [{ code: 'EMFILE' }, 'the connection failed (EMFILE)'],
  ])('is said by the code of the system: %j', (details, text) => {
    expect(causeOf(details)).toBe(text);
  });

  it('names the answer of a proxy', () => {
    expect(causeOf({ code: 'UND_ERR_ABORTED' }, 'Proxy response (407) !== 200 when HTTP Tunneling')).toBe(
      'the proxy answered 407',
    );
  });

  it('is the first of several addresses', () => {
    const errors = ['::1', '127.0.0.1'].map((address) =>
      Object.assign(new Error('refused'), { code: 'ECONNREFUSED', address, port: 9 }),
    );
    const error = new UpstreamError('network', 'x', { cause: new AggregateError(errors) });
    expect(failureCause(error)).toBe('connection refused by ::1:9');
  });

  it('is the kind of failure when no system error caused it, and never a text of others', () => {
    expect(failureCause(new UpstreamError('timeout', 'The provider took too long.'))).toBe(
      'the provider took too long',
    );
    expect(failureCause('the account has no credential')).toBe('the account has no credential');
    expect(failureCause(new Error('text of a provider'))).toBe('');
    expect(causeOf({ code: 'a text' })).toBe('the connection failed');
    expect(causeOf({ code: 'CERT_ and a text' })).toBe('the connection failed');
    expect(causeOf({ code: 'constructor' })).toBe('the connection failed');
  });

  it('is never longer than the contract allows, however long a configured host name is', () => {
    const cause = causeOf({ code: 'ENOTFOUND', hostname: 'a'.repeat(1_000) });
    expect(cause).toBe('a'.repeat(200));
  });
});

describe('an answer that is not the provider’s', () => {
  it.each([
    [200, 'text/html; charset=utf-8', 'answered 200 with text/html where text/event-stream was expected'],
    [200, '', 'answered 200 with no content-type where text/event-stream was expected'],
    [200, 'a text of others', 'answered 200 with no content-type where text/event-stream was expected'],
    [302, 'text/html', 'answered 302 where 200 was expected'],
  ])('is named by its status and media type: %i %s', (status, contentType, text) => {
    expect(unexpectedAnswerCause({ status, headers: { 'content-type': contentType } })).toBe(text);
  });
});
