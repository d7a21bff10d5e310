import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import type { Principal } from './authenticate.ts';
import { TokenCache } from './authenticate.ts';

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
    cache.expire();
    expect(await cache.resolve(key)).toBeUndefined();
  });

  it('serves the last known answer while the source is away', async () => {
    const { clock, cache } = setUp([principal, new Error('away')]);
    await cache.resolve(key);
    clock.advanceMs(3_600_000);
    expect(await cache.resolve(key)).toBe(principal);
  });

  it('never brings back a revoked token, not even while the source is away', async () => {
    const { clock, cache } = setUp([principal, undefined, new Error('away')]);
    await cache.resolve(key);
    clock.advanceMs(30_000);
    expect(await cache.resolve(key)).toBeUndefined();
    clock.advanceMs(5_000);
    await expect(cache.resolve(key)).rejects.toThrow('away');
  });

  it('believes no answer to a question that was asked before the token changed', async () => {
    const { cache, answer, asked } = setUpWaiting();
    const before = cache.resolve(key);
    cache.expire(['t1']);
    answer(principal);
    answer(undefined);
    expect(await before).toBeUndefined();
    expect(await cache.resolve(key)).toBeUndefined();
    expect(asked()).toBe(2);
  });

  it('asks again for limits that changed while they were asked for', async () => {
    const { cache, answer } = setUpWaiting();
    const before = cache.resolve(key);
    cache.expire(['t1']);
    const changed = { ...principal, limits: { requestsPerMinute: 5, tokensPerDay: undefined } };
    answer(principal);
    answer(changed);
    expect(await before).toBe(changed);
    expect(await cache.resolve(key)).toBe(changed);
  });

  it('believes no answer to a question that was asked before changes may have been missed', async () => {
    const { cache, answer } = setUpWaiting();
    const before = cache.resolve(key);
    cache.expire();
    answer(principal);
    answer(undefined);
    expect(await before).toBeUndefined();
  });

  it('believes an answer when it has asked again because another token changed meanwhile', async () => {
    const { cache, answer } = setUpWaiting();
    const before = cache.resolve(key);
    cache.expire(['other']);
    answer(principal);
    answer(principal);
    expect(await before).toBe(principal);
    expect(await cache.resolve(key)).toBe(principal);
  });

  it('serves what it learned before the change while the source can not be asked again, and asks with the next', async () => {
    const { cache, answer, asked } = setUpWaiting();
    const before = cache.resolve(key);
    cache.expire(['t1']);
    answer(principal);
    answer(new Error('away'));
    expect(await before).toBe(principal);
    const next = cache.resolve(key);
    answer(undefined);
    expect(await next).toBeUndefined();
    expect(asked()).toBe(3);
  });
});

/** A cache whose questions wait until `answer` is called; answers are given in the order of the questions. */
function setUpWaiting() {
  const answers: PromiseWithResolvers<Principal | undefined>[] = [];
  const nth = (index: number) => {
    answers[index] ??= Promise.withResolvers<Principal | undefined>();
    return answers[index];
  };
  let asked = 0;
  let answered = 0;
  const cache = new TokenCache({
    clock: new ManualClock(1_000_000),
    freshMs: 30_000,
    resolve: () => nth(asked++).promise,
  });
  const answer = (given: Principal | undefined | Error) => {
    const { resolve, reject } = nth(answered++);
    if (given instanceof Error) reject(given);
    else resolve(given);
  };
  return { cache, answer, asked: () => asked };
}
