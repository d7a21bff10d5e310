import type { ServiceRuntime } from '@gateway/lifecycle';
import { systemClock } from '@gateway/time';
import { FallbackPoolStore } from './fallback-pool-store.ts';
import { defaultRedisCommandTimeoutMs, type PoolStore } from './pool-store.ts';
import { RedisPoolStore } from './redis-pool-store.ts';

/** The store that replicas share, with a snapshot in this process to fall back on. The caller disposes of it. */
export async function openSharedPoolStore(
  redisUrl: string,
  { logger, metrics }: ServiceRuntime,
  commandTimeoutMs = defaultRedisCommandTimeoutMs,
): Promise<PoolStore> {
  const fallbacks = metrics.counter({
    name: 'gateway_pool_store_fallbacks_total',
    help: 'Times Redis did not answer and the memory of this process was used for a second.',
  });
  const redis = await RedisPoolStore.open({ url: redisUrl, commandTimeoutMs, clock: systemClock });
  return new FallbackPoolStore(redis, systemClock, (thrown) => {
    fallbacks.inc();
    logger.warn({ err: thrown }, 'Redis does not answer: accounts are chosen by what this process remembers');
  });
}
