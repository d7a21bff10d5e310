import { monotonicMs } from '@gateway/time';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RedisClock } from './redis-clock.ts';

const dayMs = 86_400_000;

beforeEach(() => void vi.useFakeTimers({ now: 1_000 * dayMs }));
afterEach(() => void vi.useRealTimers());

/** Redis, whose answer takes a while there and a while back. */
function redisOf() {
  const redis = {
    aheadMs: 3_000 * dayMs,
    thereMs: 0,
    backMs: 0,
    isAway: false,
    nowMs: () => monotonicMs() + redis.aheadMs,
    async ask() {
      vi.advanceTimersByTime(redis.thereMs);
      const answer = redis.nowMs();
      vi.advanceTimersByTime(redis.backMs);
      if (redis.isAway) throw new Error('no answer');
      return answer;
    },
  };
  return redis;
}

const tripMs = fc.integer({ min: 0, max: 400 });
const skewMs = fc.integer({ min: -dayMs, max: dayMs });

describe("Redis' clock in a broker", () => {
  it("is the machine's until Redis has answered", async () => {
    const redis = Object.assign(redisOf(), { isAway: true });
    vi.setSystemTime(5_000);
    const clock = new RedisClock(redis.ask);
    await expect(clock.update()).rejects.toThrow('no answer');
    expect([clock.isKnown, clock.nowMs()]).toEqual([false, 5_000]);
  });

  it("differs from Redis' by less than its answer took, however wrong the machine's clock is", async () => {
    const trips = fc.array(fc.record({ thereMs: tripMs, backMs: tripMs, waitMs: fc.nat(100_000) }), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(skewMs, trips, async (machineMs, asked) => {
        const redis = redisOf();
        vi.setSystemTime(redis.nowMs() + machineMs);
        const clock = new RedisClock(redis.ask);
        let quickestMs = Number.POSITIVE_INFINITY;
        let slowestMs = 0;
        let beforeMs = 0;
        for (const { waitMs, ...trip } of asked) {
          Object.assign(redis, trip);
          await clock.update();
          quickestMs = Math.min(quickestMs, trip.thereMs + trip.backMs);
          slowestMs = Math.max(slowestMs, trip.thereMs + trip.backMs);
          vi.setSystemTime(machineMs);
          vi.advanceTimersByTime(waitMs);
          const nowMs = clock.nowMs();
          expect(nowMs).toBeGreaterThanOrEqual(beforeMs);
          // Time that a correction holds back was right when it was shown.
          const aheadMs = nowMs - redis.nowMs();
          expect(-aheadMs).toBeLessThanOrEqual(quickestMs + 1);
          expect(aheadMs).toBeLessThanOrEqual((nowMs === beforeMs ? slowestMs : quickestMs) + 1);
          beforeMs = nowMs;
        }
      }),
    );
  });

  it('goes on while Redis is away', async () => {
    const redis = redisOf();
    const clock = new RedisClock(redis.ask);
    await clock.update();
    redis.isAway = true;
    const stop = new AbortController();
    const following = clock.follow(stop.signal);
    await vi.advanceTimersByTimeAsync(dayMs);
    expect(Math.abs(clock.nowMs() - redis.nowMs())).toBeLessThanOrEqual(1);
    stop.abort();
    await following;
  });

  it('waits where it was too fast, and follows a clock of Redis that was set', async () => {
    const redis = redisOf();
    const clock = new RedisClock(redis.ask);
    await clock.update();
    const stop = new AbortController();
    const following = clock.follow(stop.signal);
    for (const changeMs of [-600, 600, 600_000, -600_000]) {
      const beforeMs = clock.nowMs();
      redis.aheadMs += changeMs;
      await vi.advanceTimersByTimeAsync(5_000);
      expect(Math.abs(clock.nowMs() - redis.nowMs())).toBeLessThanOrEqual(1);
      if (changeMs > -1_000) expect(clock.nowMs()).toBeGreaterThan(beforeMs);
    }
    redis.aheadMs -= 600;
    const nowMs = clock.nowMs();
    await clock.update();
    expect(clock.nowMs()).toBe(nowMs);
    stop.abort();
    await following;
  });
});
