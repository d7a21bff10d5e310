import type { Clock } from '@gateway/time';
import type { Redis } from 'ioredis';
import type { CallerShare } from '../selection/fair-share.ts';
import type { RedisKeys } from './redis-keys.ts';
import type { RedisVerbs } from './redis-verbs.ts';
import { maxCallers, type ShareQuestion, type SinceQuestion } from './request-book.ts';

/** The requests under way of all replicas: sorted sets of lease ids by when they were taken. */
export class RedisRequestBook {
  readonly #redis: Redis;
  readonly #verbs: RedisVerbs;
  readonly #clock: Clock;
  readonly #keys: RedisKeys;

  constructor(redis: Redis, verbs: RedisVerbs, clock: Clock, keys: RedisKeys) {
    this.#redis = redis;
    this.#verbs = verbs;
    this.#clock = clock;
    this.#keys = keys;
  }

  async oldest({ pool, model, sinceMs }: SinceQuestion): Promise<number | undefined> {
    const keys = this.#keys.pool(pool);
    const key = model === '' ? keys.requests : keys.model(model);
    const [, timeMs] = await this.#redis.zrangebyscore(key, sinceMs, '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
    return timeMs === undefined ? undefined : Number(timeMs);
  }

  async shareOf({ pool, caller, leaseTtlMs, callerMemoryMs }: ShareQuestion): Promise<CallerShare> {
    const poolKeys = this.#keys.pool(pool);
    const keys = [poolKeys.callers, poolKeys.caller(caller)];
    const nowMs = this.#clock.nowMs();
    const parameters = [caller, nowMs, callerMemoryMs, leaseTtlMs, maxCallers];
    const counts = await this.#verbs.run('share', keys, parameters);
    const [inFlight, callers] = Array.isArray(counts) ? counts : [];
    return { inFlight: Number(inFlight ?? 0), callers: Number(callers ?? 1) };
  }
}
