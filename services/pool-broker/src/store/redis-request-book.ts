import type { Clock } from '@gateway/time';
import type { Redis } from 'ioredis';
import type { CallerShare } from '../selection/fair-share.ts';
import type { RedisVerbs } from './redis-verbs.ts';
import { maxCallers, type NewRequest, type ShareQuestion, type SinceQuestion } from './request-book.ts';

/** Names a key of a pool. */
export type PoolKey = (pool: string, part: string) => string;

/** The requests under way of all replicas: sorted sets of lease ids by when they were taken. */
export class RedisRequestBook {
  readonly #redis: Redis;
  readonly #verbs: RedisVerbs;
  readonly #clock: Clock;
  readonly #key: PoolKey;

  constructor(redis: Redis, verbs: RedisVerbs, clock: Clock, key: PoolKey) {
    this.#redis = redis;
    this.#verbs = verbs;
    this.#clock = clock;
    this.#key = key;
  }

  async oldest({ pool, model, sinceMs }: SinceQuestion): Promise<number | undefined> {
    const key = this.#key(pool, model === '' ? 'requests' : `model:${model}`);
    const [, timeMs] = await this.#redis.zrangebyscore(key, sinceMs, '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
    return timeMs === undefined ? undefined : Number(timeMs);
  }

  async shareOf({ pool, caller, leaseTtlMs, callerMemoryMs }: ShareQuestion): Promise<CallerShare> {
    const keys = [this.#key(pool, 'callers'), this.#key(pool, `caller:${caller}`)];
    const nowMs = this.#clock.nowMs();
    const parameters = [caller, nowMs, callerMemoryMs, leaseTtlMs, maxCallers];
    const counts = await this.#verbs.run('share', keys, parameters);
    const [inFlight, callers] = Array.isArray(counts) ? counts : [];
    return { inFlight: Number(inFlight ?? 0), callers: Number(callers ?? 1) };
  }

  /** The sets that a request is in while it goes on. */
  keysOf({ pool, model, caller }: NewRequest): readonly string[] {
    const keys = [this.#key(pool, 'requests'), this.#key(pool, `model:${model}`)];
    return caller === '' ? keys : [...keys, this.#key(pool, `caller:${caller}`)];
  }
}
