import type { ServiceRuntime } from '@gateway/lifecycle';
import { systemClock } from '@gateway/time';
import type { StandAloneLimiterConfig } from '../config.ts';
import { createLimiterMetrics } from '../metrics.ts';
import { FallbackLimitStore } from './fallback-limit-store.ts';
import type { LimitStore } from './limit-store.ts';
import { RedisConnection } from './redis-connection.ts';
import { RedisLimitStore } from './redis-limit-store.ts';

/** The store that limiters share: Redis, and local windows for when it is away. Closing the resources replays what waits. */
export function openSharedLimitStore(
  { redisUrl, isRedisCluster, redisTimeoutMs, memoryMaxKeys, ...config }: StandAloneLimiterConfig,
  { logger, metrics }: ServiceRuntime,
  resources: AsyncDisposableStack,
): LimitStore {
  const node = { url: redisUrl, isCluster: isRedisCluster, timeoutMs: redisTimeoutMs, logger };
  const redis = resources.use(new RedisConnection(node));
  const remote = new RedisLimitStore({ redis, clock: systemClock });
  const parts = { remote, clock: systemClock, metrics: createLimiterMetrics(metrics), logger, maxKept: memoryMaxKeys };
  return resources.use(new FallbackLimitStore({ ...config, ...parts }));
}
