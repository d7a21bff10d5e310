import { setTimeout as sleep } from 'node:timers/promises';
import { type BackendSetting, checkAll, checkPorts, type Environment } from '@gateway/config';
import { GrpcServer } from '@gateway/rpc/grpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { listenAdmin } from './admin-server.ts';
import { endFailedStart } from './failed-process.ts';
import { readProcessConfig } from './process-config.ts';
import type { Service, ServiceRuntime } from './service.ts';
import { StopSignal } from './stop-signal.ts';
import { warnOfUnreachableBackends } from './unreachable-backends.ts';

/** Reads its own settings from `env` (throwing ConfigError) and builds the service with its network peers. */
export type ServiceFactory = (env: Environment, runtime: ServiceRuntime) => Promise<Service>;

/** What is looked at before a service is built, so that all problems are reported at once. */
export interface ServiceChecks {
  /** Reads what the factory will read. @throws ConfigError */
  readonly settings: (env: Environment) => unknown;
  /** Servers that it works with, and does without while they are away. */
  readonly backends?: readonly BackendSetting[];
  /** The setting of the port that it serves on, and its default: GRPC_PORT unless it is another. */
  readonly port?: Readonly<Record<string, number>>;
}

/** Runs one service as a process: start, serve until SIGTERM, drain, stop. A failed start prints one message and exits 1. */
export async function runService(
  name: string,
  createService: ServiceFactory,
  checks: ServiceChecks,
  env: Environment = process.env,
): Promise<void> {
  try {
    const { settings, port = { GRPC_PORT: 50_051 } } = checks;
    const ports = () => checkPorts(env, { ...port, ADMIN_PORT: 9090 });
    await checkAll([() => readProcessConfig(env), () => settings(env), ports]);
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
  const metrics = new Metrics();
  let stopping = false;

  warnOfUnreachableBackends(env, backends, logger);
  await using stack = new AsyncDisposableStack();
  const service = stack.use(await createService(env, { logger, metrics }));
  await service.start();
  const onFault = (method: string, fault: unknown, requestId?: string) =>
    logger.error({ method, requestId, err: fault }, 'a call failed by a fault of ours');
  const { host, grpcPort: port } = config;
  const { routes } = service;
  const grpc = routes.length === 0 ? undefined : await GrpcServer.listen({ host, port, routes, onFault });
  stack.defer(() => grpc?.stop(0));
  const admin = stack.use(
    await listenAdmin({
      host,
      port: config.adminPort,
      allowedHosts: config.adminAllowedHosts,
      logger,
      metrics,
      routes: service.adminRoutes ?? routes,
      notReady: async () => (stopping ? 'stopping' : service.notReady()),
    }),
  );
  using stop = new StopSignal();
  grpc?.setServing(true);
  logger.info({ grpcPort: grpc?.port, adminPort: admin.port }, 'started');

  const signal = await stop.received;
  stopping = true;
  logger.info({ signal }, 'draining');
  grpc?.setServing(false);
  await sleep(config.drainDelayMs);
  await Promise.all([grpc?.stop(config.drainTimeoutMs), service.drain?.(config.drainTimeoutMs)]);
  logger.info('stopped');
}
