import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, type Environment, readSettings } from '@gateway/config';
import { CertificateAuthority } from '@gateway/testkit/certificates';
import { describe, expect, it, onTestFinished } from 'vitest';
import { redisSettings } from './redis-settings.ts';

const read = (env: Environment) =>
  readSettings(env, (reader) => redisSettings.required(reader, 'Redis counts limits.'));

function problemsOf(env: Environment): readonly string[] {
  try {
    read(env);
    return [];
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems;
    throw thrown;
  }
}

describe('the settings of Redis', () => {
  it('name one server, by default without TLS, and at its usual port', () => {
    const { place, password, tls } = read({ REDIS_URL: 'redis://cache' });
    expect(place).toEqual({ kind: 'server', servers: [{ host: 'cache', port: 6379 }], database: 0 });
    expect([password, tls]).toEqual([undefined, undefined]);
    expect(read({ REDIS_URL: 'rediss://[::1]:6380/2' })).toMatchObject({
      place: { kind: 'server', servers: [{ host: '::1', port: 6380 }], database: 2 },
      tls: {},
    });
  });

  it('name Sentinels and the master they watch, with passwords of both', () => {
    const url = 'redis-sentinel://app:p%40ss%2Fw%3Ard@s-1,s-2:26380/3#my%20master';
    const { place, username, password } = read({ REDIS_URL: url, REDIS_SENTINEL_PASSWORD: 'theirs' });
    expect(place).toMatchObject({
      kind: 'sentinel',
      servers: [
        { host: 's-1', port: 26379 },
        { host: 's-2', port: 26380 },
      ],
      masterName: 'my master',
      database: 3,
    });
    expect(username).toBe('app');
    expect(password?.reveal()).toBe('p@ss/w:rd');
    expect(place.kind === 'sentinel' && place.sentinelPassword?.reveal()).toBe('theirs');
    expect(JSON.stringify({ place, password })).not.toMatch(/theirs|p@ss/);
  });

  it('name nodes of a cluster', () => {
    const { place, password, tls } = read({ REDIS_URL: 'rediss-cluster://:secret@n-1:7000,n-2/' });
    expect(place).toEqual({
      kind: 'cluster',
      servers: [
        { host: 'n-1', port: 7000 },
        { host: 'n-2', port: 6379 },
      ],
    });
    expect([password?.reveal(), tls]).toEqual(['secret', expect.anything()]);
  });

  it.each([
    ['http://cache', 'is not a Redis URL'],
    ['redis://', 'has a server that cannot be parsed'],
    ['redis://cache:port', 'has a server that cannot be parsed'],
    ['redis-cluster://a,,b', 'has a server that cannot be parsed'],
    ['redis://a,b', 'has several servers'],
    ['redis://a/x', 'has text after its servers and database'],
    ['redis://a?db=2', 'has text after its servers and database'],
    ['redis-cluster://a/1', 'a Redis Cluster has none'],
    ['redis-sentinel://a,b', 'has no master name'],
    ['redis-sentinel://a,b/0#', 'has no master name'],
    ['redis://user:100%@a', 'is not percent-encoded'],
    ['redis://user:se/cret@a', 'has text after its servers'],
  ])('refuse %s and say what it must look like, without what may be a password', (url, problem) => {
    const problems = problemsOf({ REDIS_URL: url });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
    expect(problems[0]).toContain('redis-sentinel://[user:password@]host:26379');
    expect(problems[0]).not.toMatch(/100%|cret/);
  });

  it('take files for TLS that hold what they should, and only with TLS', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'redis-settings-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const authority = await CertificateAuthority.create();
    const { caFile, certFile, keyFile } = await authority.writeFiles(folder, 'limiter', { names: ['limiter'] });
    const files = { REDIS_CA_FILE: caFile, REDIS_CERT_FILE: certFile, REDIS_KEY_FILE: keyFile };
    expect(read({ REDIS_URL: 'rediss://a', ...files }).tls).toEqual({ caFile, certFile, keyFile });
    expect(problemsOf({ REDIS_URL: 'redis://a', ...files })).toEqual([expect.stringContaining('begin with rediss')]);
    expect(problemsOf({ REDIS_URL: 'rediss://a', REDIS_CERT_FILE: certFile })).toEqual([
      expect.stringContaining('must be set together'),
    ]);
    const empty = join(folder, 'empty.pem');
    await writeFile(empty, '');
    expect(
      problemsOf({ REDIS_URL: 'rediss://a', REDIS_CA_FILE: empty, REDIS_CERT_FILE: '/nowhere', REDIS_KEY_FILE: empty }),
    ).toEqual([
      expect.stringMatching(/^REDIS_CA_FILE /),
      expect.stringMatching(/^REDIS_CERT_FILE .*ENOENT/),
      expect.stringMatching(/^REDIS_KEY_FILE /),
    ]);
  });

  it('refuse a password of Sentinels where there are none', () => {
    expect(problemsOf({ REDIS_URL: 'redis://a', REDIS_SENTINEL_PASSWORD: 'x' })).toHaveLength(1);
  });

  it('must name a Redis', () => {
    expect(problemsOf({})).toEqual([expect.stringMatching(/^REDIS_URL is not set\. Redis counts limits\./)]);
  });
});
