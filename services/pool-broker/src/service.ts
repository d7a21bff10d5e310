import { EventEmitter, once } from 'node:events';
import { type Environment, followGatewayFile, type GatewayConfig } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { random as sharedRandom, timeoutSignal } from '@gateway/time';
import { showAccounts } from './account-gauges.ts';
import { followReports } from './catalog/catalog.ts';
import { type PoolBrokerConfig, readCredentialConfig, readPoolBrokerConfig } from './config.ts';
import { ActiveConfiguration, checkChange } from './configuration/active-configuration.ts';
import { AccountCredentials } from './credentials/account-credentials.ts';
import { AccountDirectory } from './credentials/account-directory.ts';
import { tokenEndpoint } from './credentials/token-endpoint.ts';
import type { RefreshContext } from './credentials/token-refresher.ts';
import { afterRenewal } from './health/account-health.ts';
import { brokerMetrics, credentialEvents, reloadMetrics } from './metrics.ts';
import { poolBrokerRoutes } from './routes.ts';
import type { FileReload } from './rpc/pool-operator-service.ts';
import type { Broker } from './selection/broker.ts';
import { RetryBudget } from './selection/retry-budget.ts';
import type { PoolStore } from './store/pool-store.ts';

/** The parts of a broker. The caller that opened store and database closes them. */
export interface PoolBrokerParts {
  readonly store: PoolStore;
  /** Default: only the accounts of gateway.yaml, with tokens in memory. */
  readonly database?: GatewayDatabase | undefined;
  /** Returns a number from 0 to below 1. Default: `random` of `@gateway/time`. */
  readonly random?: () => number;
}

export function createPoolBrokerService(config: PoolBrokerConfig, runtime: ServiceRuntime, parts: PoolBrokerParts) {
  const stop = new AbortController();
  const { store, database, random = sharedRandom } = parts;
  const { keys, proxies, pollMs, ...settings } = config.credentials ?? readCredentialConfig({});
  const directory = new AccountDirectory(config.gateway, keys, database);
  const context: RefreshContext = {
    ...settings,
    ...{ grants: directory.grants, endpoint: tokenEndpoint(proxies, settings.requestTimeoutMs) },
    ...{ store, random, events: credentialEvents(runtime), changes: new EventEmitter(), signal: stop.signal },
  };
  const credentials = new AccountCredentials(context);
  context.changes.on('renewed', (accountId, issuedAtMs) => {
    const times = { issuedAtMs, nowMs: store.nowMs() };
    // If the store is away, the pause runs to its end.
    store.changeHealth(accountId, (health) => afterRenewal(health, times)).catch(() => undefined);
  });
  const configuration = new ActiveConfiguration(config.gateway, store);
  const broker: Broker = {
    ...{ configuration, directory, store, credentials, random },
    retryBudget: new RetryBudget(),
    refusalBudget: new RetryBudget(),
    metrics: brokerMetrics(runtime),
    draining: stop.signal,
  };

  showAccounts(broker, runtime);
  runtime.metrics.beforeSnapshot(async () => {
    for (const { name } of configuration.gateway.pools) {
      for (const known of [broker.metrics, context.events]) known.poolIsKnown(name);
    }
  });

  let reload: FileReload = { loadedAtMs: store.nowMs(), problems: [] };
  const useAccounts = async () => {
    context.events.accountsRefused(directory.refused.map(({ reason }) => reason));
    await configuration.useAccounts(directory.gateway);
  };
  /** Never rejects: what can't be read now is read later. */
  const readAccounts = () => directory.read().catch(context.events.notRead).then(useAccounts);

  /** Follows changes of the stored accounts and keeps access tokens fresh. */
  async function followAccounts(): Promise<void> {
    while (!stop.signal.aborted) {
      await readAccounts();
      await credentials.keepFresh(directory.oauthAccounts);
      const waiting = AbortSignal.any([stop.signal, timeoutSignal(pollMs)]);
      await once(context.changes, 'problem', { signal: waiting }).catch(() => undefined);
    }
  }

  /** Follows changes of the configuration's file, if it has one. */
  async function followFile(): Promise<void> {
    const { source } = configuration.gateway;
    if (source === undefined) return;
    const { applied, refused } = reloadMetrics(runtime, source.path);
    const onRefused = (problems: readonly string[]) => {
      reload = { ...reload, problems };
      refused(problems);
    };
    const apply = async (file: GatewayConfig) => {
      checkChange(configuration.gateway, directory.gatewayWith(file));
      directory.file = file;
      reload = { loadedAtMs: store.nowMs(), problems: [] };
      await configuration.use(directory.gateway, applied);
    };
    await followGatewayFile(source, { signal: stop.signal, apply, onRefused });
  }

  let following: Promise<unknown> | undefined;
  return {
    ...poolBrokerRoutes({ broker, refresh: () => directory.read().then(useAccounts), reload: () => reload }),
    /** For a caller that does not start it. */
    ...{ readAccounts },
    start: async () => {
      await readAccounts();
      const isInMemory = directory.stored === undefined || directory.encryption === undefined;
      if (isInMemory && directory.oauthAccounts.length > 0) context.events.tokensKeptInMemory();
      await configuration.catalog.refresh();
      following = Promise.all([
        followReports(configuration.catalog, stop.signal, runtime.logger),
        followFile(),
        followAccounts(),
      ]);
    },
    notReady: async () => (following === undefined ? 'starting' : undefined),
    drain: async () => stop.abort(),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following;
      await credentials.settled();
    },
  } satisfies Service;
}

/** The broker as a process of its own, with Redis. Throws ConfigError for unusable settings. */
export async function createPoolBrokerFromEnvironment(env: Environment, runtime: ServiceRuntime): Promise<Service> {
  const config = readPoolBrokerConfig(env);
  const { openSharedPoolStore } = await import('./store/fallback-pool-store.ts');
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await openSharedPoolStore(config.redis, runtime));
  const database = config.databaseUrl === undefined ? undefined : stack.use(await open(config.databaseUrl, runtime));
  const service = stack.use(createPoolBrokerService(config, runtime, { store, database }));
  const opened = stack.move();
  return { ...service, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function open(databaseUrl: string, { metrics }: ServiceRuntime): Promise<GatewayDatabase> {
  const { openPostgres } = await import('@gateway/database/postgres');
  return openPostgres(databaseUrl, { applicationName: 'pool-broker', maxConnections: 4, metrics });
}
