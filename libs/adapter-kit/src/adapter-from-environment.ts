import { ConfigError, type Environment, EnvReader } from '@gateway/config';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import type { ServiceFactory } from '@gateway/lifecycle/run-service';
import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { readAdapterConfig } from './adapter-config.ts';
import type { AdapterPeers } from './adapter-service.ts';

/**
 * An adapter as a process of its own: its settings and POOL_BROKER_URL come from the environment, its peers are called
 * over one stream each.
 */
export function createAdapterFromEnvironment<Config>(
  readConfig: (env: Environment) => Config,
  createService: (config: Config, peers: AdapterPeers, runtime: ServiceRuntime) => Service,
): ServiceFactory {
  return async (env, runtime) => {
    const { config, poolBrokerUrl } = readSettings(env, readConfig);
    // Loaded here, so that a process without a network never loads gRPC.
    const { openChannel } = await import('@gateway/rpc/grpc');
    const owned = new AsyncDisposableStack();
    const channel = owned.use(openChannel(poolBrokerUrl));
    const peers: AdapterPeers = {
      broker: channel.client(PoolBrokerService),
      credentials: channel.client(CredentialService),
    };
    const service = owned.use(createService(config, peers, runtime));
    return { ...service, [Symbol.asyncDispose]: () => owned.disposeAsync() };
  };
}

/** Throws ConfigError with every problem in the settings of an adapter that is a process of its own. */
export function checkAdapterSettings(env: Environment): void {
  readSettings(env, readAdapterConfig);
}

/** Both the adapter's settings and those of a process of its own, so that all problems are reported at once. */
function readSettings<Config>(env: Environment, readConfig: (env: Environment) => Config) {
  const reader = new EnvReader(env);
  const why = 'The pool broker knows the accounts that requests are sent with.';
  const poolBrokerUrl = reader.requiredUrl('POOL_BROKER_URL', why, 'http://pool-broker:50051');
  let config: Config | undefined;
  try {
    config = readConfig(env);
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    for (const problem of thrown.problems) reader.problem(problem);
  }
  reader.done();
  if (config === undefined) throw new ConfigError(['The settings could not be read.']);
  return { config, poolBrokerUrl };
}
