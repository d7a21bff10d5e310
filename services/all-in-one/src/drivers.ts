import type { Environment } from '@gateway/config';
import type { UsageSink } from '@gateway/edge-router/usage/outbox';
import type { ServiceRuntime } from '@gateway/lifecycle';
import { readLimiterConfig } from '@gateway/limiter/config';
import type { LimitStore } from '@gateway/limiter/store/limit-store';
import { openEmbeddedLimitStore } from '@gateway/limiter/store/open-embedded-limit-store';
import { MemoryPoolStore } from '@gateway/pool-broker/store/memory-pool-store';
import type { PoolStore } from '@gateway/pool-broker/store/pool-store';
import { systemClock } from '@gateway/time';
import type { NatsUsageConsumer } from '@gateway/usage-ingest/consumer/nats-usage-consumer';
import type { LedgerProgress } from '@gateway/usage-query/rpc/get-usage';
import type { AllInOneConfig } from './config.ts';
import { DataFolder } from './data-folder.ts';

/** What the services of this process share with others, where an URL says so; undefined means the embedded default. */
export interface Drivers extends AsyncDisposable {
  readonly limitStore: LimitStore;
  readonly poolStore: PoolStore;
  readonly usageConsumer: NatsUsageConsumer | undefined;
  readonly usageSink: UsageSink | undefined;
  readonly ledgerProgress: LedgerProgress | undefined;
}

/** Opens the backends that are configured. Their client libraries are loaded only then. */
export async function openDrivers(env: Environment, config: AllInOneConfig, runtime: ServiceRuntime): Promise<Drivers> {
  await using stack = new AsyncDisposableStack();
  const redis = config.redisUrl === undefined ? undefined : await openRedisStores(env, config.redisUrl, runtime, stack);
  const usage = config.natsUrls === undefined ? undefined : await openUsageStream(env, config.natsUrls, runtime, stack);
  const limitStore = redis?.limitStore ?? (await openOwnLimitStore(env, runtime, stack));
  const open = stack.move();
  return {
    limitStore,
    poolStore: redis?.poolStore ?? new MemoryPoolStore(systemClock),
    usageConsumer: usage?.consumer,
    usageSink: usage?.sink,
    ledgerProgress: usage?.progress,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

async function openOwnLimitStore(env: Environment, runtime: ServiceRuntime, stack: AsyncDisposableStack) {
  const { admissionsFile: path } = await DataFolder.open(env);
  return openEmbeddedLimitStore({ config: readLimiterConfig(env), path, runtime }, stack);
}

async function openRedisStores(env: Environment, url: string, runtime: ServiceRuntime, stack: AsyncDisposableStack) {
  const { readStandAloneLimiterConfig } = await import('@gateway/limiter/config');
  const { openSharedLimitStore } = await import('@gateway/limiter/store/open-shared-limit-store');
  const { openSharedPoolStore } = await import('@gateway/pool-broker/store/open-shared-pool-store');
  const limitStore = openSharedLimitStore(readStandAloneLimiterConfig(env), runtime, stack);
  const poolStore = stack.use(await openSharedPoolStore(url, runtime));
  return { limitStore, poolStore };
}

async function openUsageStream(
  env: Environment,
  urls: readonly string[],
  { logger, metrics }: ServiceRuntime,
  stack: AsyncDisposableStack,
) {
  const { LedgerProgress, UsagePublisher } = await import('@gateway/usage-stream');
  const { NatsUsageConsumer: Consumer } = await import('@gateway/usage-ingest/consumer/nats-usage-consumer');
  const { createIngestMetrics } = await import('@gateway/usage-ingest/metrics');
  const { readUsageStreamConfig } = await import('@gateway/usage-ingest/config');
  const publisher = stack.use(new UsagePublisher(urls, logger));
  const sink: UsageSink = { record: (batch, signal) => publisher.publish(batch, signal) };
  const progress = stack.use(new LedgerProgress(urls, logger));
  const consumer = new Consumer({
    ...readUsageStreamConfig(env),
    urls,
    logger,
    metrics: createIngestMetrics(metrics),
  });
  return { sink, progress, consumer };
}
