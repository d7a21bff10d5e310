import type { ServiceRuntime } from '@gateway/lifecycle';
import { systemClock } from '@gateway/time';
import { defaultRedisCommandTimeoutMs } from '../config.ts';
import { onStoreFallback } from '../events.ts';
import { FallbackPoolStore } from './fallback-pool-store.ts';
import type { PoolStore } from './pool-store.ts';
import { RedisPoolStore } from './redis-pool-store.ts';

/** The store that replicas share, with this process's memory to fall back on. Whoever opens it disposes of it. */
export async function openSharedPoolStore(
  redisUrl: string,
  runtime: ServiceRuntime,
  commandTimeoutMs = defaultRedisCommandTimeoutMs,
): Promise<PoolStore> {
  const redis = await RedisPoolStore.open({ url: redisUrl, commandTimeoutMs, clock: systemClock });
  return new FallbackPoolStore(redis, systemClock, onStoreFallback(runtime));
}
