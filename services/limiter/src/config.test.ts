import { ConfigError } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import { readLimiterConfig, readStandAloneLimiterConfig } from './config.ts';

describe('the limiter’s settings', () => {
  it('have safe defaults', () => {
    expect(readLimiterConfig({})).toEqual({
      memoryMaxKeys: 100_000,
      reconcileEveryMs: 10_000,
    });
  });

  it('name every variable that a limiter of its own lacks or can’t use, at once', () => {
    const read = () => readStandAloneLimiterConfig({ LIMITER_RECONCILE_SECONDS: '0', USAGE_QUERY_URL: 'nowhere' });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(/LIMITER_RECONCILE_SECONDS.*REDIS_URL.*redis:\/\/127.*USAGE_QUERY_URL/s);
  });

  it('take Redis as one server and as a cluster', () => {
    for (const [REDIS_URL, kind] of [
      ['redis://host:6379', 'server'],
      ['rediss-cluster://user:secret@host:6380', 'cluster'],
    ]) {
      expect(readStandAloneLimiterConfig({ REDIS_URL }).redis.place.kind).toBe(kind);
    }
  });
});
