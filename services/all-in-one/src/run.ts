import { join } from 'node:path';
import { checkAll, checkPorts, type Environment, EnvReader } from '@gateway/config';
import { readEdgeRouterConfig } from '@gateway/edge-router/config';
import { checkExposure, endFailedStart, listenAdmin, StopSignal, warnOfUnreachableBackends } from '@gateway/lifecycle';
import { openTls } from '@gateway/lifecycle/transport';
import { readLimiterConfig, readStandAloneLimiterConfig } from '@gateway/limiter/config';
import { readMessagesAdapterConfig } from '@gateway/messages-adapter/config';
import { readCredentialConfig, readGatewayConfig } from '@gateway/pool-broker/config';
import { readResponsesAdapterConfig } from '@gateway/responses-adapter/config';
import { createLogger, Metrics, startTracing } from '@gateway/telemetry';
import { readUsageIngestConfig, readUsageStreamConfig } from '@gateway/usage-ingest/config';
import { readUsageQueryConfig } from '@gateway/usage-query/config';
import { adminTokenFile, httpUrl, readAdminSettings } from './admin.ts';
import { composeGateway } from './compose.ts';
import { readAllInOneConfig } from './config.ts';
import { DataFolder } from './data-folder.ts';
import { checkIdentityKeys, readDatabaseUrl } from './gateway-database.ts';
import { firstToken, freeLabel, knownToBroker, welcomeText } from './welcome.ts';

/**
 * Runs the whole gateway until SIGTERM or SIGINT. If the start fails, it prints one message that
 * says what to do, and exits with status 1.
 */
export async function runAllInOne(env: Environment): Promise<void> {
  try {
    await checkSettings(env);
    await serveUntilStopped(env);
  } catch (thrown) {
    endFailedStart('The gateway', thrown);
  }
}

/**
 * Checks every setting of every service in the process, `gateway.yaml` and the data folder.
 * @throws ConfigError with all problems.
 */
async function checkSettings(env: Environment): Promise<void> {
  const isSet = (name: string) => new EnvReader(env).optional(name) !== undefined;
  await checkAll([
    () => readAllInOneConfig(env),
    () => readDatabaseUrl(env),
    () => checkPorts(env, { PORT: 8080, ADMIN_PORT: 9090, SIMULATOR_PORT: 0 }),
    () => checkExposure(env, false),
    () => DataFolder.open(env),
    () => checkIdentityKeys(env),
    () => readCredentialConfig(env),
    () => (isSet('NATS_URL') ? readUsageStreamConfig(env) : readUsageIngestConfig(env)),
    () => readUsageQueryConfig(env),
    () => (isSet('REDIS_URL') ? readStandAloneLimiterConfig(env) : readLimiterConfig(env)),
    () => readResponsesAdapterConfig(env),
    () => readMessagesAdapterConfig(env),
    () => readEdgeRouterConfig(env),
    () => readAdminSettings(env),
    () => readGatewayConfig(env),
  ]);
}

async function serveUntilStopped(env: Environment): Promise<void> {
  const config = readAllInOneConfig(env);
  const logger = createLogger('gateway', config.logLevel);
  const metrics = Metrics.ofProcess();
  using tls = await openTls(env, logger);
  const runtime = { logger, metrics, tls };

  await using stack = new AsyncDisposableStack();
  // Disposed last, so that it sends the spans of everything else.
  stack.use(await startTracing({ service: 'gateway', logger, metrics }, env));
  const data = await DataFolder.open(env);
  const isDatabaseShared = readDatabaseUrl(env) !== undefined;
  // Some of the state is local to the folder, which two gateways must not share.
  if (!isDatabaseShared || config.redis === undefined) stack.use(await data.claim());
  // Not the database: without it the start fails anyway.
  warnOfUnreachableBackends(env, ['REDIS_URL', 'NATS_URL'], runtime.logger);
  const gateway = stack.use(await composeGateway(env, config, runtime));
  const { identity, edge, broker, simulatorUrl, notReady } = gateway;
  const { adminApp } = gateway.admin;
  const admin = stack.use(await listenAdmin({ ...runtime, ...config, adminApp, notReady, dataFolder: data.path }));
  using stop = new StopSignal();
  const adminUrl = httpUrl(config.adminHost, admin.port, tls === undefined ? 'http' : 'https');
  process.stdout.write(
    welcomeText({
      baseUrl: httpUrl(config.host, edge.port),
      adminUrl,
      // The operator manages the tokens of a shared database.
      token: isDatabaseShared ? undefined : await firstToken(identity, data, simulatorUrl !== undefined),
      freeLabel: await freeLabel(identity, 'my-first'),
      signInWith: signInText(env, isDatabaseShared),
      simulatorUrl,
      ...(await knownToBroker(broker, gateway.gateway)),
      settings: settingsForCommands(env, adminUrl),
    }),
  );

  const signal = await stop.received;
  logger.info({ signal }, 'draining');
  if (process.stderr.isTTY)
    process.stderr.write('\n  Stopping: waiting for requests in flight. Press Ctrl-C again to stop immediately.\n');
  admin.announceDrain();
  await gateway.admin.drain?.(config.drainTimeoutMs);
  await edge.drain?.(config.drainTimeoutMs);
}

/**
 * The settings that gatewayctl needs to find this gateway and its operator's token, if its defaults
 * do not suffice.
 */
function settingsForCommands(env: Environment, adminUrl: string): Readonly<Record<string, string>> {
  const folder = new EnvReader(env).optional('GATEWAY_DATA');
  return {
    ...(adminUrl !== 'http://127.0.0.1:9090' && { GATEWAY_ADMIN_URL: adminUrl }),
    ...(folder !== undefined && { GATEWAY_DATA: folder }),
  };
}

/** What a person first signs in to the console with. */
function signInText(env: Environment, isDatabaseShared: boolean): string {
  const reader = new EnvReader(env);
  if (reader.optional('ADMIN_TOKEN') !== undefined) return 'the token in ADMIN_TOKEN';
  if (isDatabaseShared) return 'an operator token; ADMIN_TOKEN creates the first one';
  return `the token in ${join(reader.string('GATEWAY_DATA', './data'), adminTokenFile)}`;
}
