import { randomUUID } from 'node:crypto';
import { testBackends } from '@gateway/testkit';
import { epochMs, localDayOf } from '@gateway/time';
import { ManualTime } from '@gateway/time/simulated';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RedisLimitStoreOptions } from '../src/store/redis-limit-store.ts';
import { PlainStore } from './plain-store.ts';
import { redisAt } from './redis-at.ts';
import { redisProxy } from './redis-proxy.ts';
import { startRedisStore } from './store-under-test.ts';

const midnightMs = Date.parse('2026-11-20T23:00:00Z');

describe('the Redis limit store', () => {
  const stack = new AsyncDisposableStack();
  const open = async (options: Partial<RedisLimitStoreOptions> = {}) =>
    new PlainStore(stack.use(await startRedisStore(options)));
  let driver: Redis;
  beforeAll(async () => {
    driver = new Redis((await testBackends()).redisUrl);
  });
  afterAll(async () => {
    driver.disconnect();
    await stack.disposeAsync();
  });

  const limitedKey = () => `test:${randomUUID()}`;
  const admission = (key: string, requestId: string, requestsPerMinute = 50) => ({
    key,
    requestId,
    limits: { requestsPerMinute, tokensPerDay: 1_000 },
    costKind: 'request_and_tokens' as const,
    hasLedger: false,
  });
  const settlement = (key: string, requestId: string, tokens: number, localDay = '2026-11-20') => ({
    key,
    requestId,
    localDay,
    tokens,
    hasLedger: false,
  });

  it('admits exactly the limit over several limiters on Redis’ own clock', async () => {
    const stores = [await open(), await open()];
    const key = limitedKey();
    const decisions = await Promise.all(
      stores.flatMap((store, s) =>
        Array.from({ length: 200 }, (_, n) => store.admit(admission(key, `request-${s}-${n}`))),
      ),
    );
    expect(decisions.filter(({ kind }) => kind === 'admitted')).toHaveLength(50);
    expect(await driver.zcard(`rl:{${key}}:m`)).toBe(50);
  });

  it('decides what is asked at once, of one key or of many, in the order in which it was asked', async () => {
    const store = await open();
    const keys = Array.from({ length: 120 }, limitedKey);
    const asked = Array.from({ length: 3 }, (_, n) => keys.map((key) => admission(key, `request-${n}`, 2))).flat();
    const unknown = { ...admission(limitedKey(), 'a'), hasLedger: true };
    const decisions = await Promise.all([...asked, unknown].map((each) => store.admit(each)));
    expect(decisions.map(({ kind }) => kind)).toEqual([
      ...Array.from({ length: 240 }, () => 'admitted'),
      ...Array.from({ length: 120 }, () => 'refused'),
      'day_total_unknown',
    ]);
  });

  it('leaves nothing behind that does not expire', async () => {
    using _ = new ManualTime(midnightMs - 3_600_000);
    const store = await open({ redisNowMs: epochMs });
    const key = limitedKey();
    await store.admit(admission(key, 'a'));
    await store.settle(settlement(key, 'a', 5));
    await store.settle({ ...settlement(key, 'b', 5), hasLedger: true });
    await store.reloadDay(key, '2026-11-20', { totalTokens: 7, includedIds: [], missingIds: ['b'] });
    await store.pendingIds(key, '2026-11-20', 1_000);
    const names = await driver.keys(`rl:{${key}}*`);
    const counter = `rl:{${key}}:d:2026-11-20`;
    const ofDay = ['', ':pending', ':reload', ':settled'].map((suffix) => `${counter}${suffix}`);
    expect(names.toSorted()).toEqual([...ofDay, `rl:{${key}}:m`]);
    const lifetimes = await Promise.all(names.toSorted().map((name) => driver.pttl(name)));
    for (const lifetimeMs of lifetimes) expect(lifetimeMs).toBeGreaterThan(0);
    expect(Math.max(...lifetimes)).toBeLessThanOrEqual(7 * 3_600_000);
    expect(lifetimes[4]).toBeLessThanOrEqual(60_001);
  });

  it('leaves no key for a refused request, a peek, or a settle of no tokens', async () => {
    const store = await open();
    const key = limitedKey();
    expect(await store.admit(admission(key, 'a', 0))).toMatchObject({ kind: 'refused' });
    await store.admit({ ...admission(key, 'a'), requestId: undefined });
    await store.settle(settlement(key, 'a', 0));
    expect(await driver.keys(`rl:{${key}}*`)).toEqual([]);
  });

  it('takes the local day of Redis’ clock when ours is wrong about midnight', async () => {
    const key = limitedKey();
    for (const aheadMs of [5_000, -5_000]) {
      using time = new ManualTime(midnightMs - 1 + aheadMs);
      const store = await open({ redisNowMs: () => time.nowMs - aheadMs });
      expect(await store.admit(admission(key, 'a'))).toMatchObject({
        status: { localDay: '2026-11-20', tokens: { resetsAtMs: midnightMs } },
      });
      time.advanceMs(1);
      expect(await store.admit(admission(key, 'b'))).toMatchObject({ status: { localDay: '2026-11-21' } });
    }
  });

  it('knows its scripts again after Redis forgot them', async () => {
    const store = await open();
    const key = limitedKey();
    await store.admit(admission(key, 'a'));
    await driver.script('FLUSH');
    const decisions = await Promise.all(['b', 'c'].map((requestId) => store.admit(admission(key, requestId))));
    expect(decisions.map(({ kind }) => kind)).toEqual(['admitted', 'admitted']);
  });

  it('takes one slot when the answer is lost on its way and the call is made again', async () => {
    await using proxy = await redisProxy((await testBackends()).redisUrl);
    const store = await open({ settings: redisAt(proxy.url) });
    const key = limitedKey();
    await store.admit(admission(key, 'a'));
    proxy.cutNextAnswer();
    expect(await store.admit(admission(key, 'b'))).toMatchObject({
      kind: 'admitted',
      status: { requests: { remaining: 48 } },
    });
    proxy.cutNextAnswer();
    expect(await store.settle(settlement(key, 'b', 5, localDayOf(Date.now())))).toMatchObject({ usedTokens: 5 });
    expect(proxy.cuts).toBe(2);
    expect(await driver.zcard(`rl:{${key}}:m`)).toBe(2);
  });
});
