import type { ServiceRuntime } from '@gateway/lifecycle';
import { systemClock } from '@gateway/time';
import type { StandAloneLimiterConfig } from '../config.ts';
import { createLimiterEvents } from '../limiter-events.ts';
import type { LimitStore } from './limit-store.ts';
import { MemoryLimitStore } from './memory-limit-store.ts';
import { OutageTolerantStore } from './outage-tolerant-store.ts';
import { RedisConnection } from './redis-connection.ts';
import { RedisLimitStore } from './redis-limit-store.ts';

/** The store that limiters share: Redis, and local windows for when it is away. Closing the resources tells Redis what waits. */
export function openSharedLimitStore(
  config: StandAloneLimiterConfig,
  runtime: ServiceRuntime,
  resources: AsyncDisposableStack,
): LimitStore {
  const clock = systemClock;
  const { redisUrl, redisTimeoutMs, failureMode, localMaxMs, memoryMaxKeys, leastReplicas } = config;
  const redis = resources.use(
    new RedisConnection({ url: redisUrl, commandTimeoutMs: redisTimeoutMs, logger: runtime.logger }),
  );
  return resources.use(
    new OutageTolerantStore({
      remote: new RedisLimitStore({ redis, clock }),
      local: new MemoryLimitStore({ clock, maxKeys: memoryMaxKeys, isReconciled: false, maxRecorded: memoryMaxKeys }),
      clock,
      events: createLimiterEvents(runtime),
      failureMode,
      localMaxMs,
      leastReplicas,
      maxKept: memoryMaxKeys,
    }),
  );
}
