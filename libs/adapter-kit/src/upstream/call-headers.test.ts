import { describe, expect, it } from 'vitest';
import type { ProviderAccount } from '../credentials/credential-cache.ts';
import { CallHeaders } from './call-headers.ts';

const account = (secret: string): ProviderAccount => ({
  accountId: 'pool/a',
  origin: 'https://api.example.com',
  basePath: '',
  secretHeader: { authorization: secret },
  cacheableUntilMs: 0,
  version: '',
});

describe('the headers of a call', () => {
  it('are those of every call, the format’s, its own and the account’s secret', () => {
    const headers = new CallHeaders({ 'x-version': '7', 'x-beta': 'of the format' });
    expect(headers.of(account('s'), { accept: 'application/json', 'x-beta': 'own' })).toEqual({
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'model-gateway',
      'x-version': '7',
      'x-beta': 'own',
      authorization: 's',
    });
  });

  it('are put together once for an account and own ones that are frozen', () => {
    const headers = new CallHeaders({});
    const [first, second] = [account('first'), account('second')];
    const own = Object.freeze({ 'x-beta': 'b' });
    expect(headers.of(first, own)).toBe(headers.of(first, own));
    expect(headers.of(second, own)).toMatchObject({ authorization: 'second', 'x-beta': 'b' });
    expect(headers.of(first, Object.freeze({ 'x-beta': 'c' }))).toMatchObject({ 'x-beta': 'c' });
  });

  it('follow own ones that may change', () => {
    const headers = new CallHeaders({});
    const own = { 'x-beta': 'b' };
    const used = account('s');
    expect(headers.of(used, own)).toMatchObject({ 'x-beta': 'b' });
    own['x-beta'] = 'c';
    expect(headers.of(used, own)).toMatchObject({ 'x-beta': 'c' });
  });
});
