import { describe, expect, it } from 'vitest';
import { type ConfigError, type Environment, EnvReader } from './env-reader.ts';
import { checkListeners, readTlsFiles } from './transport-settings.ts';

describe('transport security', () => {
  const tls = { TLS_CERT_FILE: 'a', TLS_KEY_FILE: 'b', TLS_CA_FILE: 'c' };
  const problemsOf = (env: Environment, read: (reader: EnvReader) => unknown) => {
    const reader = new EnvReader(env);
    read(reader);
    try {
      reader.done();
      return [];
    } catch (thrown) {
      return (thrown as ConfigError).problems;
    }
  };

  it('takes all three files or none', () => {
    expect(readTlsFiles(new EnvReader(tls))).toEqual({ certFile: 'a', keyFile: 'b', caFile: 'c' });
    expect(readTlsFiles(new EnvReader({}))).toBe(undefined);
    expect(problemsOf({ TLS_CERT_FILE: 'a' }, readTlsFiles)).toEqual([
      'TLS_KEY_FILE and TLS_CA_FILE must be set too: TLS needs TLS_CERT_FILE, TLS_KEY_FILE, TLS_CA_FILE.',
    ]);
  });

  it('is needed beyond loopback, unless plaintext is allowed', () => {
    const check = (host: string) => (reader: EnvReader) => checkListeners(reader, { HOST: host });
    for (const host of ['127.0.0.1', '127.8.8.8', 'localhost', '::1']) expect(problemsOf({}, check(host))).toEqual([]);
    for (const host of ['0.0.0.0', '::', '10.0.0.1', 'limiter', '127.example']) {
      expect(problemsOf({}, check(host))).toEqual([expect.stringContaining(`HOST is ${host}: other machines`)]);
      expect(problemsOf({ ALLOW_PLAINTEXT: 'true' }, check(host))).toEqual([]);
      expect(problemsOf(tls, check(host))).toEqual([]);
    }
  });

  it('decides how peers are addressed', () => {
    const read = (reader: EnvReader) => reader.peerUrl('LIMITER_URL', 'Why.', 'http://limiter:50051');
    expect(problemsOf({ LIMITER_URL: 'http://limiter:1' }, read)).toEqual([]);
    expect(problemsOf({ ...tls, LIMITER_URL: 'https://limiter:1' }, read)).toEqual([]);
    expect(problemsOf({ ...tls, LIMITER_URL: 'http://limiter:1' }, read)).toEqual([
      'LIMITER_URL must start with https://, because TLS_CERT_FILE is set. Either all services use TLS, or none.',
    ]);
    expect(problemsOf({ LIMITER_URL: 'https://limiter:1' }, read)).toEqual([
      expect.stringContaining('must start with http://'),
    ]);
    expect(problemsOf(tls, read)).toEqual([
      'LIMITER_URL is not set. Why. For example: LIMITER_URL=https://limiter:50051',
    ]);
  });
});
