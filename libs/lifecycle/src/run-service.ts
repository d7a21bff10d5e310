import { type BackendSetting, checkAll, checkPorts, type Environment } from '@gateway/config';
import type { ServiceRoute } from '@gateway/rpc';
import { GrpcServer } from '@gateway/rpc/grpc';
import { createLogger, Metrics, startTracing, versionText } from '@gateway/telemetry';
import { sleep } from '@gateway/time';
import { listenAdmin } from './admin-server.ts';
import { endFailedStart } from './failed-process.ts';
import { checkExposure, readProcessConfig } from './process-config.ts';
import type { Service, ServiceRuntime } from './service.ts';
import { StopSignal } from './stop-signal.ts';
import { faultLog, openTls, refusalLog } from './transport.ts';
import { warnOfUnreachableBackends } from './unreachable-backends.ts';

/**
 * Reads its own settings from `env` (throwing ConfigError) and builds the service with its network
 * peers.
 */
export type ServiceFactory = (env: Environment, runtime: ServiceRuntime) => Promise<Service>;

/** Checks that run before a service is built, so that all problems are reported at once. */
interface ServiceChecks {
  /** Reads the settings that the factory will read. @throws ConfigError */
  readonly settings: (env: Environment) => unknown;
  /** Servers that the service uses but can do without during an outage. */
  readonly backends?: readonly BackendSetting[];
  /**
   * The setting of the port that the service listens on, with its default. It is GRPC_PORT if left
   * out.
   */
  readonly port?: Readonly<Record<string, number>>;
}

/**
 * Runs one service as a process: start, serve until SIGTERM, drain, stop. If the start fails, it
 * prints one message and exits with status 1. With the argument `--version` it prints the build and
 * nothing else.
 */
export async function runService(
  name: string,
  createService: ServiceFactory,
  checks: ServiceChecks,
  env: Environment = process.env,
): Promise<void> {
  if (process.argv[2] === '--version') return void process.stdout.write(versionText(name));
  try {
    const { settings, port = { GRPC_PORT: 50_051 } } = checks;
    await checkAll([
      () => readProcessConfig(env),
      () => settings(env),
      () => checkPorts(env, { ...port, ADMIN_PORT: 9090 }),
      () => checkExposure(env, 'GRPC_PORT' in port),
    ]);
    await serveUntilStopped(name, createService, checks, env);
  } catch (thrown) {
    endFailedStart(name, thrown);
  }
}

async function serveUntilStopped(
  name: string,
  createService: ServiceFactory,
  { backends = [] }: ServiceChecks,
  env: Environment,
): Promise<void> {
  const config = readProcessConfig(env);
  const logger = createLogger(name, config.logLevel);
  const metrics = Metrics.ofProcess();
  using tls = await openTls(env, logger);
  const runtime: ServiceRuntime = { logger, metrics, tls };

  warnOfUnreachableBackends(env, backends, logger);
  await using stack = new AsyncDisposableStack();
  // Disposed last, so that it sends the spans of everything else.
  stack.use(await startTracing({ service: name, logger, metrics }, env));
  const service = stack.use(await createService(env, runtime));
  await service.start();
  const grpc = await listenGrpc(service, config, runtime, stack);
  const { adminApp, dataFolder } = service;
  const notReady = () => service.notReady();
  const admin = stack.use(await listenAdmin({ ...runtime, ...config, adminApp, dataFolder, notReady }));
  using stop = new StopSignal();
  for (const server of grpc) server.setServing(true);
  logger.info({ grpc_ports: grpc.map(({ port }) => port), admin_port: admin.port, tls: tls !== undefined }, 'started');

  const signal = await stop.received;
  admin.announceDrain();
  logger.info({ signal }, 'draining');
  for (const server of grpc) server.setServing(false);
  service.announceDrain?.();
  await sleep(config.drainDelayMs);
  const { drainTimeoutMs } = config;
  await Promise.all([...grpc.map((server) => server.stop(drainTimeoutMs)), service.drain?.(drainTimeoutMs)]);
  logger.info('stopped');
}

/**
 * Starts the gRPC servers of a service: none, one, or a second one for secrets. `stack` stops them.
 */
async function listenGrpc(
  { routes, credentialRoutes = [] }: Service,
  { host, grpcPort, credentialPort }: ReturnType<typeof readProcessConfig>,
  runtime: ServiceRuntime,
  stack: AsyncDisposableStack,
): Promise<readonly GrpcServer[]> {
  const { logger, metrics, tls } = runtime;
  const options = { host, tls, metrics, onFault: faultLog(logger), onRefused: refusalLog(runtime) };
  const listen = async (port: number, served: readonly ServiceRoute[]) => {
    if (served.length === 0) return [];
    const server = await GrpcServer.listen({ ...options, port, routes: served });
    stack.defer(() => server.stop(0));
    return [server];
  };
  // A client that reaches the service finds its secrets too.
  const secrets = await listen(credentialPort, credentialRoutes);
  return [...(await listen(grpcPort, routes)), ...secrets];
}
