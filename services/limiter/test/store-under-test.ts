import { randomUUID } from 'node:crypto';
import { createLogger } from '@gateway/telemetry';
import { testBackends } from '@gateway/testkit';
import { ManualClock } from '@gateway/time';
import type { LimitStore } from '../src/store/limit-store.ts';
import { MemoryLimitStore } from '../src/store/memory-limit-store.ts';
import { RedisConnection } from '../src/store/redis-connection.ts';
import { RedisLimitStore } from '../src/store/redis-limit-store.ts';

/** A store whose time the test sets, and a key of its own. */
export interface StoreUnderTest extends AsyncDisposable {
  readonly store: LimitStore;
  readonly clock: ManualClock;
  readonly key: string;
}

export interface StoreBounds {
  readonly maxPendingIds?: number;
}

export async function openMemoryStore(startMs: number, bounds: StoreBounds = {}): Promise<StoreUnderTest> {
  const clock = new ManualClock(startMs);
  const store = new MemoryLimitStore({ clock, maxKeys: 1_000, ...bounds });
  return { store, clock, key: `test:${randomUUID()}`, [Symbol.asyncDispose]: async () => undefined };
}

export async function openRedisStore(startMs: number, bounds: StoreBounds = {}): Promise<StoreUnderTest> {
  const clock = new ManualClock(startMs);
  const redis = await openRedis();
  const store = new RedisLimitStore({ redis, clock, redisClock: clock, ...bounds });
  return { store, clock, key: `test:${randomUUID()}`, [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() };
}

/** A connection with a deadline that a busy test machine keeps. */
export async function openRedis(url?: string, timeoutMs = 10_000): Promise<RedisConnection> {
  const logger = createLogger('limiter', 'silent');
  const redis = new RedisConnection({ url: url ?? (await testBackends()).redisUrl, timeoutMs, logger });
  await redis.start();
  return redis;
}
