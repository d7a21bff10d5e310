import type { Environment, GatewayConfig } from '@gateway/config';
import { checkAll, checkPorts, EnvReader, simulatedGatewayConfig } from '@gateway/config';
import { readEdgeRouterConfig } from '@gateway/edge-router/config';
import { endFailedStart, listenAdmin, StopSignal, warnOfUnreachableBackends } from '@gateway/lifecycle';
import { readLimiterConfig, readStandAloneLimiterConfig } from '@gateway/limiter/config';
import { readMessagesAdapterConfig } from '@gateway/messages-adapter/config';
import { readGatewayConfig } from '@gateway/pool-broker/config';
import { readCredentialConfig } from '@gateway/pool-broker/credentials/credential-config';
import { readResponsesAdapterConfig } from '@gateway/responses-adapter/config';
import { createLogger, Metrics } from '@gateway/telemetry';
import { readUsageIngestConfig, readUsageStreamConfig } from '@gateway/usage-ingest/config';
import { readUsageQueryConfig } from '@gateway/usage-query/config';
import { type ComposedGateway, composeGateway } from './compose.ts';
import { type AllInOneConfig, readAllInOneConfig } from './config.ts';
import { DataFolder } from './data-folder.ts';
import { checkIdentityKeys, hasStoredAccounts } from './gateway-database.ts';
import { firstTokenForTrying, firstTokenOnce, welcomeText } from './welcome.ts';

/** Runs the whole gateway until SIGTERM or SIGINT. A failed start prints one message that says what to do, and exits 1. */
export async function runAllInOne(env: Environment): Promise<void> {
  try {
    await serveUntilStopped(env);
  } catch (thrown) {
    endFailedStart('The gateway', thrown);
  }
}

async function serveUntilStopped(env: Environment): Promise<void> {
  await checkSettings(env);
  const config = readAllInOneConfig(env);
  const runtime = { logger: createLogger('gateway', config.logLevel), metrics: new Metrics() };
  let stopping = false;

  await using stack = new AsyncDisposableStack();
  const data = await DataFolder.open(env);
  const { databaseUrl, redisUrl } = config;
  // There is something that two gateways on one folder would each have for themselves.
  if (databaseUrl === undefined || redisUrl === undefined) stack.use(await data.claim());
  // Without a database nothing can be done: opening it fails.
  warnOfUnreachableBackends(env, ['REDIS_URL', 'NATS_URL'], runtime.logger);
  const providers = await chooseProviders(env, config, stack);
  const gateway = stack.use(await composeGateway(env, config, providers.gateway, runtime));
  const admin = stack.use(
    await listenAdmin({
      host: config.host,
      port: config.adminPort,
      allowedHosts: config.adminAllowedHosts,
      ...runtime,
      routes: gateway.adminRoutes,
      notReady: async () => (stopping ? 'stopping' : gateway.notReady()),
    }),
  );
  using stop = new StopSignal();
  const host = config.host === '0.0.0.0' ? '127.0.0.1' : config.host;
  process.stdout.write(
    welcomeText({
      baseUrl: `http://${host}:${gateway.edge.port}`,
      adminUrl: `http://${host}:${admin.port}`,
      // Tokens of a shared database are the operator's business.
      token: databaseUrl === undefined ? await firstToken(gateway.identity, data, providers) : undefined,
      simulatorUrl: providers.simulatorUrl,
    }),
  );

  await stop.received;
  stopping = true;
  await gateway.edge.drain?.(config.drainTimeoutMs);
}

/** Every setting of every service in the process, `gateway.yaml` and the data folder. @throws ConfigError with all problems. */
async function checkSettings(env: Environment): Promise<void> {
  const isSet = (name: string) => new EnvReader(env).optional(name) !== undefined;
  await checkAll([
    () => readAllInOneConfig(env),
    () => checkPorts(env, { PORT: 8080, ADMIN_PORT: 9090, SIMULATOR_PORT: 0 }),
    () => DataFolder.open(env),
    () => checkIdentityKeys(env),
    () => readCredentialConfig(env),
    () => (isSet('NATS_URL') ? readUsageStreamConfig(env) : readUsageIngestConfig(env)),
    () => readUsageQueryConfig(env),
    () => (isSet('REDIS_URL') ? readStandAloneLimiterConfig(env) : readLimiterConfig(env)),
    () => readResponsesAdapterConfig(env),
    () => readMessagesAdapterConfig(env),
    () => readEdgeRouterConfig(env),
    () => readGatewayConfig(env),
  ]);
}

interface Providers {
  readonly gateway: GatewayConfig;
  /** Set when the providers are simulated. */
  readonly simulatorUrl: string | undefined;
}

/** The configured accounts; without any, simulated ones, so that the first request is answered. */
async function chooseProviders(
  env: Environment,
  config: AllInOneConfig,
  stack: AsyncDisposableStack,
): Promise<Providers> {
  const gateway = readGatewayConfig(env);
  if (gateway.accounts.length > 0 || (await hasStoredAccounts(env))) return { gateway, simulatorUrl: undefined };
  const { startSimulator } = await import('@gateway/simulator');
  const simulator = stack.use(await startSimulator({ port: config.simulatorPort }));
  return { gateway: simulatedGatewayConfig(simulator.url), simulatorUrl: simulator.url };
}

function firstToken(identity: ComposedGateway['identity'], data: DataFolder, { simulatorUrl }: Providers) {
  return simulatorUrl === undefined ? firstTokenOnce(identity, data) : firstTokenForTrying(identity, data);
}
