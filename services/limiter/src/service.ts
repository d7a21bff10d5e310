import type { Environment } from '@gateway/config';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { peerChannels } from '@gateway/lifecycle/transport';
import { type LimitStore, MemoryLimitStore } from '@gateway/limits';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { type LimiterConfig, readStandAloneLimiterConfig, type StandAloneLimiterConfig } from './config.ts';
import { CounterTotals, type LedgerReader } from './ledger/counter-totals.ts';
import { Limiter } from './limiter.ts';
import { createLimiterMetrics } from './metrics.ts';
import { limiterRoutes } from './routes.ts';

export interface LimiterPeers {
  /**
   * Where totals of `token:<id>` and `group:<id>` keys are loaded from when the store has lost
   * them. Without it they start at zero.
   */
  readonly usageQuery?: LedgerReader | undefined;
}

export interface OpenParts {
  /** Default: in memory. The caller closes a store that it passes. */
  readonly store?: LimitStore;
}

/** The limiter with a store of the caller's choice, which callers in its process may use. */
export function createLimiterService(
  config: LimiterConfig,
  { usageQuery }: LimiterPeers,
  runtime: ServiceRuntime,
  { store = new MemoryLimitStore({ maxKeys: config.memoryMaxKeys }) }: OpenParts = {},
) {
  const metrics = createLimiterMetrics(runtime.metrics);
  const parts = { store, usageQuery, metrics, logger: runtime.logger, everyMs: config.reconcileEveryMs };
  const totals = new CounterTotals(parts);
  const limiter = new Limiter(store, totals, metrics);
  const draining = new AbortController();
  return {
    routes: limiterRoutes(limiter, draining.signal),
    limiter,
    async start() {
      await store.start?.();
      totals.start();
    },
    notReady: async () => store.notReady?.(),
    drain: async () => draining.abort(),
    async [Symbol.asyncDispose]() {
      draining.abort();
      totals[Symbol.dispose]();
    },
  };
}

/**
 * The limiter as a process of its own: Redis for shared state, and the usage service over the
 * network.
 */
export async function createLimiterFromEnvironment(env: Environment, runtime: ServiceRuntime): Promise<Service> {
  const config = readStandAloneLimiterConfig(env);
  const { openSharedLimitStore } = await import('./store/shared-limit-store.ts');
  const resources = new AsyncDisposableStack();
  const openChannel = await peerChannels(runtime, resources);
  const { usageQueryUrl } = config;
  const channel = usageQueryUrl === undefined ? undefined : openChannel('usage-query', usageQueryUrl);
  const store = openSharedLimitStore(config, runtime, resources);
  const peers = { usageQuery: channel?.client(UsageQueryService) };
  const service = resources.use(createLimiterService(config, peers, runtime, { store }));
  return {
    ...service,
    async notReady() {
      const problem = await service.notReady();
      return problem && `${problem}: ${storeText(config)}`;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** "Redis at 127.0.0.1:6379 (REDIS_URL)" */
function storeText({ redis: { place } }: StandAloneLimiterConfig): string {
  const servers = place.servers.map(({ host, port }) => `${host}:${port}`).join(', ');
  return `Redis at ${servers} (REDIS_URL)`;
}
