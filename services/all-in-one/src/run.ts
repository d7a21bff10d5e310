import type { Environment, GatewayConfig } from '@gateway/config';
import { simulatedGatewayConfig } from '@gateway/config';
import {
  AdminServer,
  endFailedProcess,
  StopSignal,
  startFailureText,
  warnOfUnreachableBackends,
} from '@gateway/lifecycle';
import { readGatewayConfig } from '@gateway/pool-broker/config';
import { createLogger, Metrics } from '@gateway/telemetry';
import { checkSettings } from './check-settings.ts';
import { claimDataFolder } from './claim-data-folder.ts';
import { type ComposedGateway, composeGateway } from './compose.ts';
import { type AllInOneConfig, readAllInOneConfig } from './config.ts';
import { DataFolder } from './data-folder.ts';
import { firstTokenForTrying, firstTokenOnce } from './first-token.ts';
import { hasStoredAccounts } from './stored-accounts.ts';
import { type Welcome, welcomeText } from './welcome.ts';

/** Runs the whole gateway until SIGTERM or SIGINT. A failed start prints one message that says what to do, and exits 1. */
export async function runAllInOne(env: Environment): Promise<void> {
  try {
    await serveUntilStopped(env);
  } catch (thrown) {
    process.stderr.write(`${startFailureText('The gateway', thrown)}\n`);
    endFailedProcess();
  }
}

async function serveUntilStopped(env: Environment): Promise<void> {
  await checkSettings(env);
  const config = readAllInOneConfig(env);
  const runtime = { logger: createLogger('gateway', config.logLevel), metrics: new Metrics() };
  let stopping = false;

  await using stack = new AsyncDisposableStack();
  const data = await DataFolder.open(env);
  if (keepsStateAlone(config)) stack.use(await claimDataFolder(data));
  // Without a database nothing can be done: opening it fails.
  warnOfUnreachableBackends(env, ['REDIS_URL', 'NATS_URL'], runtime.logger);
  const providers = await chooseProviders(env, config, stack);
  const gateway = stack.use(await composeGateway(env, config, providers.gateway, runtime));
  const admin = stack.use(
    await AdminServer.listen({
      host: config.host,
      port: config.adminPort,
      allowedHosts: config.adminAllowedHosts,
      ...runtime,
      routes: gateway.adminRoutes,
      notReady: async () => (stopping ? 'stopping' : gateway.notReady()),
    }),
  );
  using stop = new StopSignal();
  process.stdout.write(
    welcomeText(await welcome(env, config, { gateway, admin, simulatorUrl: providers.simulatorUrl })),
  );

  await stop.received;
  stopping = true;
  await gateway.edge.drain?.(config.drainTimeoutMs);
}

/** Whether there is something that two gateways on one folder would each have for themselves. */
function keepsStateAlone({ databaseUrl, redisUrl }: AllInOneConfig): boolean {
  return databaseUrl === undefined || redisUrl === undefined;
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

interface Running {
  readonly gateway: ComposedGateway;
  readonly admin: AdminServer;
  readonly simulatorUrl: string | undefined;
}

async function welcome(
  env: Environment,
  config: AllInOneConfig,
  { gateway, admin, simulatorUrl }: Running,
): Promise<Welcome> {
  const host = config.host === '0.0.0.0' ? '127.0.0.1' : config.host;
  return {
    baseUrl: `http://${host}:${gateway.edge.port}`,
    adminUrl: `http://${host}:${admin.port}`,
    token: await firstToken(env, config, { gateway, simulatorUrl }),
    simulatorUrl,
    model: 'gateway/sterk',
  };
}

/** Tokens of a shared database are the operator's business. */
async function firstToken(
  env: Environment,
  { databaseUrl }: AllInOneConfig,
  { gateway: { identity }, simulatorUrl }: Pick<Running, 'gateway' | 'simulatorUrl'>,
): Promise<string | undefined> {
  if (databaseUrl !== undefined) return undefined;
  const data = await DataFolder.open(env);
  return simulatorUrl === undefined ? firstTokenOnce(identity, data) : firstTokenForTrying(identity, data);
}
