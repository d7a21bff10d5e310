import type { Environment } from '@gateway/config';
import type { UsageSink } from '@gateway/edge-router/usage/outbox';
import type { ServiceRuntime } from '@gateway/lifecycle';
import { readLimiterConfig, readStandAloneLimiterConfig } from '@gateway/limiter/config';
import { openEmbeddedLimitStore } from '@gateway/limiter/store/embedded-limit-store';
import type { LimitStore } from '@gateway/limits';
import { MemoryPoolStore } from '@gateway/pool-broker/store/memory-pool-store';
import type { PoolStore } from '@gateway/pool-broker/store/pool-store';
import { systemClock } from '@gateway/time';
import { readUsageStreamConfig } from '@gateway/usage-ingest/config';
import type { NatsUsageConsumer } from '@gateway/usage-ingest/consumer/nats-usage-consumer';
import type { LedgerProgress } from '@gateway/usage-query/rpc/get-usage';
import { DataFolder } from './data-folder.ts';

// What the services of this process share with others, where an URL says so, and the embedded default of each. Client
// libraries are loaded only where they are needed.

export interface Stores {
  readonly limitStore: LimitStore;
  readonly poolStore: PoolStore;
}

/** In memory without a REDIS_URL. The stack closes them. */
export async function openStores(
  env: Environment,
  redisUrl: string | undefined,
  runtime: ServiceRuntime,
  stack: AsyncDisposableStack,
): Promise<Stores> {
  if (redisUrl === undefined) {
    const { admissionsFile: path } = await DataFolder.open(env);
    const limitStore = await openEmbeddedLimitStore({ config: readLimiterConfig(env), path, runtime }, stack);
    return { limitStore, poolStore: new MemoryPoolStore(systemClock) };
  }
  const { openSharedLimitStore } = await import('@gateway/limiter/store/fallback-limit-store');
  const { openSharedPoolStore } = await import('@gateway/pool-broker/store/open-shared-pool-store');
  const limitStore = openSharedLimitStore(readStandAloneLimiterConfig(env), runtime, stack);
  return { limitStore, poolStore: stack.use(await openSharedPoolStore(redisUrl, runtime)) };
}

/** How usage reaches the ledger over JetStream. */
export interface UsageStream {
  readonly sink: UsageSink;
  readonly consumer: NatsUsageConsumer;
  readonly progress: LedgerProgress;
}

export async function openUsageStream(
  env: Environment,
  urls: readonly string[],
  { logger, metrics }: ServiceRuntime,
  stack: AsyncDisposableStack,
): Promise<UsageStream> {
  const { LedgerProgress, UsagePublisher } = await import('@gateway/usage-stream');
  const { NatsUsageConsumer: Consumer } = await import('@gateway/usage-ingest/consumer/nats-usage-consumer');
  const { createIngestMetrics } = await import('@gateway/usage-ingest/metrics');
  const publisher = stack.use(new UsagePublisher(urls, logger));
  return {
    sink: { record: (batch, signal) => publisher.publish(batch, signal) },
    consumer: new Consumer({ ...readUsageStreamConfig(env), urls, logger, metrics: createIngestMetrics(metrics) }),
    progress: stack.use(new LedgerProgress(urls, logger)),
  };
}
