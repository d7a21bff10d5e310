import type { Environment } from '@gateway/config';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Client } from '@gateway/rpc';
import { type Clock, systemClock } from '@gateway/time';
import { DayReconciler } from './admission/day-reconciler.ts';
import { noLedger, usageLedger } from './admission/day-total-source.ts';
import { DayTotals } from './admission/day-totals.ts';
import { Limiter } from './admission/limiter.ts';
import { type LimiterConfig, readStandAloneLimiterConfig } from './config.ts';
import { createLimiterEvents } from './limiter-events.ts';
import { limiterRoutes } from './routes.ts';
import { reasonOf } from './store/failure-reason.ts';
import type { LimitStore } from './store/limit-store.ts';
import { MemoryLimitStore } from './store/memory-limit-store.ts';

export interface LimiterPeers {
  /** Where day totals of `token:<id>` keys are loaded from when the store lost them. Without it they start at zero. */
  readonly usageQuery?: Client<typeof UsageQueryService> | undefined;
}

export interface LimiterParts {
  /** Default: in memory. The caller closes what it passes. */
  readonly store?: LimitStore;
  readonly clock?: Clock;
}

/** The limiter over a store that the caller chose. */
export function createLimiterService(
  config: LimiterConfig,
  { usageQuery }: LimiterPeers,
  runtime: ServiceRuntime,
  { clock = systemClock, store = new MemoryLimitStore({ clock, maxKeys: config.memoryMaxKeys }) }: LimiterParts = {},
): Service {
  const events = createLimiterEvents(runtime);
  const dayTotals = new DayTotals({
    source: usageQuery === undefined ? noLedger : usageLedger(usageQuery),
    clock,
    onFailure: (thrown) => events.dayTotalLoadFailed(reasonOf(thrown)),
  });
  const reconciler = new DayReconciler({ store, dayTotals, clock, events, everyMs: config.reconcileEveryMs });
  const draining = new AbortController();
  return {
    routes: limiterRoutes(new Limiter({ store, dayTotals, reconciler, clock, events }), draining.signal),
    async start() {
      await store.start?.();
      reconciler.start();
    },
    notReady: async () => store.notReady?.(),
    drain: async () => draining.abort(),
    async [Symbol.asyncDispose]() {
      draining.abort();
      reconciler[Symbol.dispose]();
    },
  };
}

/** A limiter of its own: Redis for what limiters share, the usage service over the network. */
export async function createLimiterFromEnvironment(env: Environment, runtime: ServiceRuntime): Promise<Service> {
  const config = readStandAloneLimiterConfig(env);
  const [{ openChannel }, { openSharedLimitStore }] = await Promise.all([
    import('@gateway/rpc/grpc'),
    import('./store/open-shared-limit-store.ts'),
  ]);
  const resources = new AsyncDisposableStack();
  const channel = config.usageQueryUrl === undefined ? undefined : resources.use(openChannel(config.usageQueryUrl));
  const store = openSharedLimitStore(config, runtime, resources);
  const peers = { usageQuery: channel?.client(UsageQueryService) };
  const service = resources.use(createLimiterService(config, peers, runtime, { store }));
  return { ...service, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}
