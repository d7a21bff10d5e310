import { ConfigError, EnvReader } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import { databaseUrl, parseDatabaseUrl } from './database-url.ts';

describe('DATABASE_URL', () => {
  it('names one server, or several of which one takes writes', () => {
    const hostsOf = (url: string) => parseDatabaseUrl(url).hosts.map(({ host, port }) => `${host}:${port ?? ''}`);
    expect(hostsOf('postgres://u:p@db:6543/gateway')).toEqual(['db:6543']);
    expect(hostsOf('postgresql://u:p%40ss@a:1,b,[::1]:3/gateway')).toEqual(['a:1', 'b:', '::1:3']);
    const { hosts } = parseDatabaseUrl('postgres://u:p%40ss@a,b/gateway?application_name=x');
    for (const each of hosts) expect(each).toMatchObject({ user: 'u', password: 'p@ss', database: 'gateway' });
  });

  it.each([
    ['postgres://a/x', false],
    ['postgres://a,b/x', true],
    ['postgres://a,b/x?target_session_attrs=any', false],
    ['postgres://a/x?target_session_attrs=read-write', true],
    ['postgres://a/x?target_session_attrs=primary', true],
  ])('%s wants a server that takes writes: %s', (url, mustWrite) => {
    expect(parseDatabaseUrl(url).mustWrite).toBe(mustWrite);
  });

  it("has libpq's ways of TLS", () => {
    const tlsOf = (query: string) => parseDatabaseUrl(`postgres://a/x?${query}`).hosts[0]?.ssl;
    const caFile = import.meta.filename;
    expect(tlsOf('')).toBeUndefined();
    expect(tlsOf('sslmode=disable')).toBe(false);
    expect(tlsOf('sslmode=require')).toEqual({ rejectUnauthorized: false });
    expect(tlsOf(`sslmode=verify-full&sslrootcert=${caFile}`)).toEqual({ ca: expect.stringContaining('verify-full') });
    expect(tlsOf(`sslmode=verify-ca&sslrootcert=${caFile}`)).toMatchObject({
      checkServerIdentity: expect.any(Function),
    });
  });

  it.each([
    ['', /^DATABASE_URL is not set\. Why\./],
    ['mysql://u:secret@db/x', /^DATABASE_URL is not a URL that starts with postgres:/],
    ['postgres://u:secret@a,b:port/x', /^DATABASE_URL has no host at position 2/],
    [
      'postgres://u:secret@a/x?sslmode=prefer',
      /^DATABASE_URL has the sslmode "prefer": it must be one of disable, require/,
    ],
    ['postgres://u:secret@a,b/x?target_session_attrs=standby', /has the target_session_attrs "standby"/],
    ['postgres://u:secret@a/x?sslmode=verify-full&sslrootcert=/absent', /cannot be used: ENOENT.*\/absent/],
  ])('says what is wrong with "%s", without the password', (text, problem) => {
    const reader = new EnvReader({ DATABASE_URL: text });
    databaseUrl.required(reader, 'Why.');
    expect(() => reader.done()).toThrow(ConfigError);
    expect(() => reader.done()).toThrow(problem);
    expect(() => reader.done()).not.toThrow(/secret/);
  });
});
