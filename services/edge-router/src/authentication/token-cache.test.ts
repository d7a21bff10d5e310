import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import type { Principal } from './principal.ts';
import { TokenCache } from './token-cache.ts';

const key = Buffer.from('some digest');
const principal: Principal = {
  tokenId: 't1',
  caller: 'c',
  kind: 'service',
  label: 'ci',
  limits: { requestsPerMinute: 60, tokensPerDay: undefined },
};

function setUp(answers: (Principal | undefined | Error)[]) {
  const clock = new ManualClock(1_000_000);
  let asked = 0;
  const cache = new TokenCache({
    clock,
    freshMs: 30_000,
    resolve: async () => {
      const answer = answers[Math.min(asked++, answers.length - 1)];
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return { clock, cache, asked: () => asked };
}

describe('TokenCache', () => {
  it('asks once for a known token within its time, and again after it', async () => {
    const { clock, cache, asked } = setUp([principal]);
    expect(await cache.resolve(key)).toBe(principal);
    clock.advanceMs(29_999);
    expect(await cache.resolve(key)).toBe(principal);
    expect(asked()).toBe(1);
    clock.advanceMs(1);
    await cache.resolve(key);
    expect(asked()).toBe(2);
  });

  it('asks once for requests that come together', async () => {
    const { cache, asked } = setUp([principal]);
    await Promise.all([cache.resolve(key), cache.resolve(key), cache.resolve(key)]);
    expect(asked()).toBe(1);
  });

  it('remembers an unknown token for five seconds', async () => {
    const { clock, cache, asked } = setUp([undefined, principal]);
    expect(await cache.resolve(key)).toBeUndefined();
    clock.advanceMs(4_999);
    expect(await cache.resolve(key)).toBeUndefined();
    expect(asked()).toBe(1);
    clock.advanceMs(1);
    expect(await cache.resolve(key)).toBe(principal);
  });

  it('asks at once for a token that changed', async () => {
    const { cache } = setUp([principal, undefined]);
    await cache.resolve(key);
    cache.expire(['other']);
    expect(await cache.resolve(key)).toBe(principal);
    cache.expire(['t1']);
    expect(await cache.resolve(key)).toBeUndefined();
  });

  it('asks at once for every token when any may have changed', async () => {
    const { cache } = setUp([principal, undefined]);
    await cache.resolve(key);
    cache.expireAll();
    expect(await cache.resolve(key)).toBeUndefined();
  });

  it('serves the last known answer while nobody can tell', async () => {
    const { clock, cache } = setUp([principal, new Error('away')]);
    await cache.resolve(key);
    clock.advanceMs(3_600_000);
    expect(await cache.resolve(key)).toBe(principal);
  });

  it('never brings back a revoked token, not even while nobody can tell', async () => {
    const { clock, cache } = setUp([principal, undefined, new Error('away')]);
    await cache.resolve(key);
    clock.advanceMs(30_000);
    expect(await cache.resolve(key)).toBeUndefined();
    clock.advanceMs(5_000);
    await expect(cache.resolve(key)).rejects.toThrow('away');
  });

  it('knows a token at once while it is fresh, and no other', async () => {
    const { clock, cache } = setUp([principal]);
    expect(cache.known(key.toString('latin1'))).toBeUndefined();
    await cache.resolve(key);
    expect(cache.known(key.toString('latin1'))).toBe(principal);
    expect(cache.known('another digest')).toBeUndefined();
    cache.expire(['t1']);
    expect(cache.known(key.toString('latin1'))).toBeUndefined();
    await cache.resolve(key);
    clock.advanceMs(30_000);
    expect(cache.known(key.toString('latin1'))).toBeUndefined();
  });
});
