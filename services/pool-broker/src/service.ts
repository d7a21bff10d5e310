import type { Environment } from '@gateway/config';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import type { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { ServiceRoute } from '@gateway/rpc';
import { type Clock, systemClock } from '@gateway/time';
import { AccountRoster } from './accounts/account-roster.ts';
import type { Broker } from './broker.ts';
import { Catalog } from './catalog/catalog.ts';
import { followReports } from './catalog/follow-reports.ts';
import { type PoolBrokerConfig, readPoolBrokerConfig } from './config.ts';
import { brokerEvents, onRefreshFault } from './events.ts';
import { credentialRoute, poolBrokerRoute } from './routes.ts';
import { RetryBudget } from './selection/retry-budget.ts';
import type { PoolStore } from './store/pool-store.ts';

/** What a broker works with. Whoever opened the store closes it. */
export interface PoolBrokerParts {
  readonly store: PoolStore;
  readonly clock?: Clock;
  /** From 0 to below 1. Default: Math.random. */
  readonly random?: () => number;
}

/** A broker, ready to be served over a network or called in process. */
export interface PoolBroker extends Service {
  readonly routes: readonly [ServiceRoute<typeof PoolBrokerService>, ServiceRoute<typeof CredentialService>];
}

/** The broker, on any store. */
export function createPoolBrokerService(
  config: PoolBrokerConfig,
  runtime: ServiceRuntime,
  parts: PoolBrokerParts,
): PoolBroker {
  const stop = new AbortController();
  const broker = createBroker(config, runtime, parts, stop.signal);
  const poolBroker = poolBrokerRoute(broker);
  let following: Promise<void> | undefined;
  return {
    routes: [poolBroker, credentialRoute(broker)],
    // Secrets are for adapters, over gRPC.
    adminRoutes: [poolBroker],
    start: async () => {
      await broker.catalog.refresh();
      following = followReports(broker.catalog, { signal: stop.signal, onFault: onRefreshFault(runtime) });
    },
    notReady: async () => (following === undefined ? 'starting' : undefined),
    drain: async () => stop.abort(),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following;
    },
  };
}

/** The broker as a process of its own, on Redis. Throws ConfigError when it can't be. */
export async function createPoolBrokerFromEnvironment(env: Environment, runtime: ServiceRuntime): Promise<Service> {
  const config = readPoolBrokerConfig(env);
  const { openSharedPoolStore } = await import('./store/open-shared-pool-store.ts');
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await openSharedPoolStore(config.redisUrl, runtime, config.redisCommandTimeoutMs));
  const service = stack.use(createPoolBrokerService(config, runtime, { store }));
  const opened = stack.move();
  return { ...service, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

function createBroker(
  { gateway }: PoolBrokerConfig,
  runtime: ServiceRuntime,
  parts: PoolBrokerParts,
  draining: AbortSignal,
): Broker {
  const { store, clock = systemClock, random = Math.random } = parts;
  const { settings } = gateway;
  const budget = { share: settings.retryBudgetShare, floorPerSecond: settings.retryBudgetFloorPerSecond };
  return {
    roster: new AccountRoster(gateway.accounts),
    catalog: new Catalog(gateway, store, clock),
    store,
    settings,
    retryBudget: new RetryBudget(budget, clock),
    clock,
    random,
    events: brokerEvents(runtime),
    draining,
  };
}
