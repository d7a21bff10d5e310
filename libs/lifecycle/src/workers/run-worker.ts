import { answerInBytes, type Client, clientInBytes, RpcError, type ServiceRoute } from '@gateway/rpc';
import { createLogger, type LogLevel, Metrics } from '@gateway/telemetry';
import type { Service, ServiceRuntime } from '../service.ts';
import { startFailureText } from '../start-failure.ts';
import type { PrimaryContract, WorkerContract } from './contracts.ts';
import { Dialogue } from './dialogue.ts';

export interface WorkerOptions {
  /** Who can't start, when it can't. */
  readonly name: string;
  readonly logLevel: LogLevel;
  /** How long running work may take to end when this process alone is told to leave by SIGTERM. */
  readonly drainTimeoutMs: number;
}

/** The service of a worker, and where it listens once it was started. */
export interface ListeningService extends Service {
  readonly port: number;
}

export interface PrimaryProcess {
  /** A client of what the primary process offers to its workers. */
  client<S extends ServiceRoute['service']>(service: S): Client<S>;
}

/** How long the primary process may take to answer a call that a client waits for. */
const callTimeoutMs = 5_000;
/** A primary process that is busy with its own start must not look dead. */
const reportTimeoutMs = 60_000;

/**
 * Runs a service as one of the workers of a `WorkerPool`, until the primary process tells it to leave. When that is gone,
 * so is this process, at once: Node's cluster module sees to it.
 */
export async function runWorker(
  { name, logLevel, drainTimeoutMs }: WorkerOptions,
  createService: (runtime: ServiceRuntime, primary: PrimaryProcess) => Promise<ListeningService>,
): Promise<void> {
  const runtime = { logger: createLogger(name, logLevel), metrics: new Metrics() };
  const stopped = Promise.withResolvers<number>();
  // The terminal's Ctrl-C reaches all processes: what follows from it is for the primary one to say.
  process.on('SIGINT', () => undefined);
  process.once('SIGTERM', () => stopped.resolve(drainTimeoutMs));
  let running: ListeningService | undefined;
  const dialogue = new Dialogue<WorkerContract, PrimaryContract>(toPrimary, {
    metrics: () => runtime.metrics.snapshot(),
    call: async (call) => {
      if (running === undefined) throw new RpcError('unavailable', 'This worker is still starting.');
      return answerInBytes([...running.routes, ...(running.adminRoutes ?? [])], call);
    },
    drain: (timeoutMs) => stopped.resolve(timeoutMs),
  });
  try {
    await using service = await createService(runtime, {
      client: (offered) => clientInBytes(offered, (call) => dialogue.ask('call', call, callTimeoutMs)),
    });
    await service.start();
    running = service;
    await dialogue.ask('serving', service.port, reportTimeoutMs);
    await service.drain?.(await stopped.promise);
  } catch (thrown) {
    if (running !== undefined) runtime.logger.error({ err: thrown }, 'a worker could not end in an orderly way');
    else await dialogue.ask('failed', startFailureText(name, thrown), reportTimeoutMs).catch(() => undefined);
    process.exitCode = 1;
  }
  process.disconnect?.();
}

const toPrimary = {
  send: (message: object) => void process.send?.(message),
  listen: (onMessage: (message: unknown) => void) => void process.on('message', onMessage),
};
