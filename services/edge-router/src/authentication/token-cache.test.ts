import { create } from '@bufbuild/protobuf';
import { type Token, TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TokenCache } from './authenticate.ts';
import { LookupSlots } from './lookup-slots.ts';

const key = Buffer.from('some digest');
const token = create(TokenSchema, { tokenId: 't1', label: 'ci', limits: { requestsPerMinute: 60 } });

const ending = create(TokenSchema, { tokenId: 't1', expiresAtMs: 1_010_000 });

function setUp(answers: (Token | undefined | Error)[]) {
  const time = new ManualTime(1_000_000);
  onTestFinished(() => time[Symbol.dispose]());
  let asked = 0;
  const cache = new TokenCache({
    freshMs: 30_000,
    slots: new LookupSlots({ waitMs: 1_000 }),
    resolve: async () => {
      const answer = answers[Math.min(asked++, answers.length - 1)];
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return { time, cache, asked: () => asked };
}

describe('TokenCache', () => {
  it('asks once for a known token within its time, and again after it', async () => {
    const { time, cache, asked } = setUp([token]);
    expect(await cache.resolve(key)).toBe(token);
    time.advanceMs(29_999);
    expect(await cache.resolve(key)).toBe(token);
    expect(asked()).toBe(1);
    time.advanceMs(1);
    await cache.resolve(key);
    expect(asked()).toBe(2);
  });

  it('asks once for requests that come together', async () => {
    const { cache, asked } = setUp([token]);
    await Promise.all([cache.resolve(key), cache.resolve(key), cache.resolve(key)]);
    expect(asked()).toBe(1);
  });

  it('remembers an unknown token for five seconds', async () => {
    const { time, cache, asked } = setUp([undefined, token]);
    expect(await cache.resolve(key)).toBeUndefined();
    time.advanceMs(4_999);
    expect(await cache.resolve(key)).toBeUndefined();
    expect(asked()).toBe(1);
    time.advanceMs(1);
    expect(await cache.resolve(key)).toBe(token);
  });

  it('asks at once for a token that changed', async () => {
    const { cache } = setUp([token, undefined]);
    await cache.resolve(key);
    cache.expire(['other']);
    expect(await cache.resolve(key)).toBe(token);
    cache.expire(['t1']);
    expect(await cache.resolve(key)).toBeUndefined();
  });

  it('asks at once for every token when any may have changed', async () => {
    const { cache } = setUp([token, undefined]);
    await cache.resolve(key);
    cache.expire();
    expect(await cache.resolve(key)).toBeUndefined();
  });

  it.each([
    { text: 'by more than the age of its answer', backMs: 3_600_000 },
    { text: 'by a moment, before its answer was a moment old', backMs: 1 },
  ])('asks again for a revoked token when the clock was set back $text', async ({ backMs }) => {
    const { time, cache } = setUp([token, undefined]);
    await cache.resolve(key);
    time.advanceMs(-backMs);
    expect(await cache.resolve(key)).toBeUndefined();
  });

  it('asks again for a new token that was unknown when the clock was set back', async () => {
    const { time, cache } = setUp([undefined, token]);
    await cache.resolve(key);
    time.advanceMs(-3_600_000);
    expect(await cache.resolve(key)).toBe(token);
  });

  it('serves the last known answer while the source is away', async () => {
    const { time, cache } = setUp([token, new Error('away')]);
    await cache.resolve(key);
    time.advanceMs(3_600_000);
    expect(await cache.resolve(key)).toBe(token);
  });

  it('never brings back a revoked token, not even while the source is away', async () => {
    const { time, cache } = setUp([token, undefined, new Error('away')]);
    await cache.resolve(key);
    time.advanceMs(30_000);
    expect(await cache.resolve(key)).toBeUndefined();
    time.advanceMs(5_000);
    await expect(cache.resolve(key)).rejects.toThrow('away');
  });

  it('serves a token to the millisecond of its end, and asks no more often for it', async () => {
    const { time, cache, asked } = setUp([ending]);
    expect(await cache.resolve(key)).toBe(ending);
    time.advanceMs(9_999);
    expect(await cache.resolve(key)).toBe(ending);
    time.advanceMs(1);
    expect(await cache.resolve(key)).toBeUndefined();
    expect(asked()).toBe(1);
  });

  it('serves a token beyond the end that it had when it was given a later one', async () => {
    const { time, cache } = setUp([ending, token]);
    await cache.resolve(key);
    time.advanceMs(10_000);
    cache.expire(['t1']);
    expect(await cache.resolve(key)).toBe(token);
  });

  it('ends a token at its time also while the source is away, or has another clock', async () => {
    const { time, cache } = setUp([ending, new Error('away'), ending]);
    await cache.resolve(key);
    time.advanceMs(30_000);
    expect(await cache.resolve(key)).toBeUndefined();
    expect(await cache.resolve(key)).toBeUndefined();
  });

  it('believes no answer to a question that was asked before the token changed', async () => {
    const { cache, answer, asked } = setUpWaiting();
    const before = cache.resolve(key);
    cache.expire(['t1']);
    answer(token);
    answer(undefined);
    expect(await before).toBeUndefined();
    expect(await cache.resolve(key)).toBeUndefined();
    expect(asked()).toBe(2);
  });

  it('asks again for limits that changed while they were asked for', async () => {
    const { cache, answer } = setUpWaiting();
    const before = cache.resolve(key);
    cache.expire(['t1']);
    const changed = create(TokenSchema, { tokenId: 't1', label: 'ci', limits: { requestsPerMinute: 5 } });
    answer(token);
    answer(changed);
    expect(await before).toBe(changed);
    expect(await cache.resolve(key)).toBe(changed);
  });

  it('believes no answer to a question that was asked before changes may have been missed', async () => {
    const { cache, answer } = setUpWaiting();
    const before = cache.resolve(key);
    cache.expire();
    answer(token);
    answer(undefined);
    expect(await before).toBeUndefined();
  });

  it('believes an answer when it has asked again because another token changed meanwhile', async () => {
    const { cache, answer } = setUpWaiting();
    const before = cache.resolve(key);
    cache.expire(['other']);
    answer(token);
    answer(token);
    expect(await before).toBe(token);
    expect(await cache.resolve(key)).toBe(token);
  });

  it('serves what it learned before the change while the source cannot be asked again, and asks with the next', async () => {
    const { cache, answer, asked } = setUpWaiting();
    const before = cache.resolve(key);
    cache.expire(['t1']);
    answer(token);
    answer(new Error('away'));
    expect(await before).toBe(token);
    const next = cache.resolve(key);
    answer(undefined);
    expect(await next).toBeUndefined();
    expect(asked()).toBe(3);
  });
});

describe('TokenCache while tokens that nobody issued are looked up', () => {
  const madeUp = (n: number) => Buffer.from(`made up ${n}`);

  it('asks for one of them at a time where it may, and for a token that it knows whenever it must', async () => {
    const { cache, answer, asked } = setUpWaiting();
    const first = cache.resolve(key);
    answer(token);
    expect(await first).toBe(token);
    const guesses = [0, 1, 2].map((n) => cache.resolve(madeUp(n)));
    expect(asked()).toBe(2);
    // The token is known, whether it is fresh or not.
    expect(await cache.resolve(key)).toBe(token);
    cache.expire(['t1']);
    const again = cache.resolve(key);
    expect(asked()).toBe(3);
    for (const given of [undefined, token, undefined, undefined]) answer(given);
    expect(await again).toBe(token);
    expect(await Promise.all(guesses)).toEqual([undefined, undefined, undefined]);
    expect(asked()).toBe(5);
  });

  it('has one lookup for requests with one token, which waits once', async () => {
    const { cache, answer, asked } = setUpWaiting();
    const guess = cache.resolve(madeUp(0));
    const firsts = [cache.resolve(key), cache.resolve(key)];
    answer(undefined);
    answer(token);
    expect(await guess).toBeUndefined();
    expect(await Promise.all(firsts)).toEqual([token, token]);
    expect(asked()).toBe(2);
  });
});

/**
 * A cache whose lookups wait until `answer` is called; answers are given in the order of the
 * lookups.
 */
function setUpWaiting() {
  const answers: PromiseWithResolvers<Token | undefined>[] = [];
  const nth = (index: number) => {
    answers[index] ??= Promise.withResolvers<Token | undefined>();
    return answers[index];
  };
  let asked = 0;
  let answered = 0;
  const cache = new TokenCache({
    freshMs: 30_000,
    slots: new LookupSlots({ waitMs: 60_000, atATime: 1 }),
    resolve: () => nth(asked++).promise,
  });
  const answer = (given: Token | undefined | Error) => {
    const { resolve, reject } = nth(answered++);
    if (given instanceof Error) reject(given);
    else resolve(given);
  };
  return { cache, answer, asked: () => asked };
}
