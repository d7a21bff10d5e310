import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import type { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client, ServiceRoute } from '@gateway/rpc';
import { type Clock, systemClock } from '@gateway/time';
import type { AdapterConfig } from './adapter-config.ts';
import { type AdapterContext, createAdapterContext } from './adapter-context.ts';
import { ModelListReporter } from './models/model-list-reporter.ts';
import type { ProviderFormat } from './provider-format.ts';

/** The services that an adapter calls. */
export interface AdapterPeers {
  readonly broker: Client<typeof PoolBrokerService>;
  readonly credentials: Client<typeof CredentialService>;
}

export interface AdapterServiceOptions {
  readonly format: ProviderFormat;
  /** The adapter's RPCs, made of the kit's handlers. */
  readonly routes: (context: AdapterContext) => readonly ServiceRoute[];
  readonly config: AdapterConfig;
  readonly peers: AdapterPeers;
  readonly runtime: ServiceRuntime;
  readonly clock?: Clock;
}

/** One adapter: its RPCs, and the timer that reports to the broker what its pools' providers offer. */
export function createAdapterService({
  routes,
  peers,
  clock = systemClock,
  ...options
}: AdapterServiceOptions): Service {
  const { broker, credentials } = peers;
  const owned = new AsyncDisposableStack();
  const context = owned.use(createAdapterContext({ ...options, credentials, clock }));
  const reporter = owned.use(new ModelListReporter({ context, broker }));
  return {
    routes: routes(context),
    start: async () => reporter.start(),
    notReady: async () => (reporter.hasReachedBroker ? undefined : 'has not reached the pool-broker yet'),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
