import { type Environment, readSettings } from '@gateway/config';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import type { ServiceFactory } from '@gateway/lifecycle/run-service';
import { peerChannels } from '@gateway/lifecycle/transport';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type Client, type ServiceRoute, serviceRoute } from '@gateway/rpc';
import { type AdapterConfig, adapterConfigFrom } from './adapter-config.ts';
import { type AdapterContext, createAdapterContext } from './adapter-context.ts';
import type { FormatDefinition } from './format-definition.ts';
import { ModelListReporter } from './models/model-list-reporter.ts';
import { countTokens } from './rpc/count-tokens.ts';
import { execute } from './rpc/execute.ts';
import { listModels } from './rpc/list-models.ts';
import { probeAccount } from './rpc/probe-account.ts';

/** The services that an adapter calls. */
export interface AdapterPeers {
  readonly broker: Client<typeof PoolBrokerService>;
  readonly credentials: Client<typeof CredentialService>;
}

type CreateAdapter = (config: AdapterConfig, peers: AdapterPeers, runtime: ServiceRuntime) => Service;

/** The RPCs of every adapter. */
export function adapterRoutes(context: AdapterContext): readonly ServiceRoute[] {
  return [
    serviceRoute(AdapterService, {
      execute: execute(context),
      countTokens: countTokens(context),
      listModels: listModels(context),
      probeAccount: probeAccount(context),
    }),
  ];
}

/**
 * Creates the adapter of one format: its RPCs, and the timer that reports to the broker which
 * models its pools' providers offer.
 */
export function adapterFactory(
  format: FormatDefinition,
  routes: (context: AdapterContext) => readonly ServiceRoute[],
): CreateAdapter {
  return (config, { broker, credentials }, runtime) => {
    const owned = new AsyncDisposableStack();
    const context = owned.use(createAdapterContext({ format, config, credentials, runtime }));
    const reporter = owned.use(new ModelListReporter(context, broker));
    return {
      routes: routes(context),
      start: async () => reporter.start(),
      notReady: async () => (reporter.hasReachedBroker ? undefined : 'has not reached the pool-broker yet'),
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  };
}

/**
 * An adapter as a process of its own: its settings and the addresses of the broker come from the
 * environment, and calls to each address share one stream.
 */
export function createAdapterFromEnvironment(createService: CreateAdapter): ServiceFactory {
  return async (env, runtime) => {
    const { config, poolBrokerUrl, credentialUrl } = checkAdapterSettings(env);
    const owned = new AsyncDisposableStack();
    const openChannel = await peerChannels(runtime, owned);
    const peers: AdapterPeers = {
      broker: openChannel('pool-broker', poolBrokerUrl).client(PoolBrokerService),
      credentials: openChannel('pool-broker', credentialUrl).client(CredentialService),
    };
    const service = owned.use(createService(config, peers, runtime));
    return { ...service, [Symbol.asyncDispose]: () => owned.disposeAsync() };
  };
}

/** @throws ConfigError with every problem in the settings of a stand-alone adapter. */
export function checkAdapterSettings(env: Environment) {
  return readSettings(env, (reader) => {
    const why = 'The pool broker manages the accounts.';
    const whySecrets = 'The pool broker serves the secrets of accounts on a separate port.';
    return {
      poolBrokerUrl: reader.peerUrl('POOL_BROKER_URL', why, 'http://pool-broker:50051'),
      credentialUrl: reader.peerUrl('CREDENTIAL_URL', whySecrets, 'http://pool-broker:50052'),
      config: adapterConfigFrom(reader),
    };
  });
}
