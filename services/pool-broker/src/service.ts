import type { Environment, GatewayConfig } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import type { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { ServiceRoute } from '@gateway/rpc';
import { type Clock, systemClock } from '@gateway/time';
import { followReports } from './catalog/catalog.ts';
import { type PoolBrokerConfig, readPoolBrokerConfig } from './config.ts';
import { ActiveConfiguration } from './configuration/active-configuration.ts';
import { applyAccounts, applyConfiguration, configurationEvents } from './configuration/apply-configuration.ts';
import { followGatewayFile } from './configuration/follow-gateway-file.ts';
import { brokerCredentials } from './credentials/broker-credentials.ts';
import { readCredentialConfig } from './credentials/credential-config.ts';
import { type CredentialStorage, credentialStorage } from './credentials/credential-storage.ts';
import { type AccountHealth, afterRenewal } from './health/account-health.ts';
import { brokerMetrics } from './metrics.ts';
import { credentialRoute, poolBrokerRoute } from './routes.ts';
import type { Broker } from './selection/broker.ts';
import { AccountSampler } from './selection/read-candidates.ts';
import type { PoolStore } from './store/pool-store.ts';

/** What a broker works with. The caller that opened the store closes it. */
export interface PoolBrokerParts {
  readonly store: PoolStore;
  /** Default: no accounts but those of gateway.yaml, and tokens in memory. */
  readonly credentials?: CredentialStorage;
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
  const { store, clock = systemClock, random = Math.random } = parts;
  const storage = parts.credentials ?? credentialStorage(readCredentialConfig({}), {}, clock);
  const onRenewed = (accountId: string, issuedAtMs: number) => {
    const times = { issuedAtMs, nowMs: clock.nowMs() };
    const change = (health: AccountHealth) => afterRenewal(health, times);
    // With a store that is away the pause runs to its end.
    store.changeHealth(accountId, change).catch(() => undefined);
  };
  const options = { clock, random, onRenewed, signal: stop.signal };
  const accounts = brokerCredentials(config.gateway, storage, runtime, options);
  const configuration = new ActiveConfiguration(config.gateway, store, clock);
  const broker: Broker = {
    configuration,
    store,
    sampler: new AccountSampler(),
    credentials: accounts.credentials,
    clock,
    random,
    metrics: brokerMetrics(runtime),
    draining: stop.signal,
  };
  const poolBroker = poolBrokerRoute(broker);
  const onNotRead = (thrown: unknown) =>
    runtime.logger.warn({ err: thrown }, 'what other replicas know of models could not be read');

  /** Keeps to the file that the configuration came from, if it came from one. */
  async function followFile(): Promise<void> {
    const { source } = configuration.gateway;
    if (source === undefined) return;
    const events = configurationEvents(runtime, source.path);
    events.started();
    const apply = (file: GatewayConfig) => {
      const onReplaced = () => accounts.directory.useFile(file);
      return applyConfiguration({ configuration, store, events, onReplaced }, accounts.directory.gatewayWith(file));
    };
    await followGatewayFile(source, { signal: stop.signal, apply, onRefused: events.refused });
  }

  let following: Promise<unknown> | undefined;
  return {
    routes: [poolBroker, credentialRoute(broker)],
    // Secrets are for adapters, over gRPC.
    adminRoutes: [poolBroker],
    start: async () => {
      await accounts.start();
      await applyAccounts(configuration, store, accounts.directory.gateway);
      await configuration.catalog.refresh();
      following = Promise.all([
        followReports(configuration.catalog, { signal: stop.signal, onFault: onNotRead }),
        followFile(),
        accounts.follow((gateway) => applyAccounts(configuration, store, gateway)),
      ]);
    },
    notReady: async () => (following === undefined ? 'starting' : undefined),
    drain: async () => stop.abort(),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following;
      await accounts.settled();
    },
  };
}

/** The broker as a process of its own, on Redis. Throws ConfigError when it can't be. */
export async function createPoolBrokerFromEnvironment(env: Environment, runtime: ServiceRuntime): Promise<Service> {
  const config = readPoolBrokerConfig(env);
  const { openSharedPoolStore } = await import('./store/fallback-pool-store.ts');
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await openSharedPoolStore(config.redisUrl, runtime, config.redisCommandTimeoutMs));
  const database = config.databaseUrl && stack.adopt(await open(config.databaseUrl), (opened) => opened.destroy());
  const credentials = credentialStorage(config.credentials, { database: database || undefined }, systemClock);
  const service = stack.use(createPoolBrokerService(config, runtime, { store, credentials }));
  const opened = stack.move();
  return { ...service, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function open(databaseUrl: string): Promise<GatewayDatabase> {
  const { openPostgres } = await import('@gateway/database/postgres');
  return openPostgres(databaseUrl, { applicationName: 'pool-broker', maxConnections: 4 });
}
