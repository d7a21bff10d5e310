import cluster from 'node:cluster';
import { createLogger, type LogLevel, Metrics, type MetricsSnapshot, startTracing } from '@gateway/telemetry';
import { startFailureText } from '../failed-process.ts';
import type { Service, ServiceRuntime } from '../service.ts';

/** What the supervisor sends to a worker over Node's channel between the two. */
export type ToWorker =
  /** To ask clients to go elsewhere. */
  | { readonly kind: 'announce drain' }
  /** To take nothing new, let running work end within so many milliseconds, and exit. */
  | { readonly kind: 'drain'; readonly timeoutMs: number }
  | { readonly kind: 'read metrics' };

/** What a worker sends to its supervisor. */
export type FromWorker =
  | { readonly kind: 'serving' }
  /** The worker could not start. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'metrics'; readonly metrics: MetricsSnapshot };

interface WorkerOptions {
  /** Names the service in errors. */
  readonly name: string;
  /** Names it in logs and traces. Default: as in errors. */
  readonly service?: string;
  readonly logLevel: LogLevel;
  /** How long running work may take to end when this process alone gets SIGTERM. */
  readonly drainTimeoutMs: number;
}

/**
 * Runs a service as one worker of a pool, until the supervisor says to drain. Without a supervisor, Node's cluster ends it at once.
 * What is put on the stack ends after the service.
 */
export async function runWorker(
  { name, service: ofService = name, logLevel, drainTimeoutMs }: WorkerOptions,
  createService: (runtime: ServiceRuntime, stack: AsyncDisposableStack) => Promise<Service>,
): Promise<void> {
  const runtime = { logger: createLogger(ofService, logLevel), metrics: Metrics.ofProcess() };
  const drain = Promise.withResolvers<number>();
  let announceDrain: (() => void) | undefined;
  // The terminal's Ctrl-C reaches all processes: the supervisor says what follows from it.
  process.on('SIGINT', () => undefined);
  process.once('SIGTERM', () => drain.resolve(drainTimeoutMs));
  process.on('message', async (message: ToWorker) => {
    if (message.kind === 'announce drain') announceDrain?.();
    if (message.kind === 'drain') drain.resolve(message.timeoutMs);
    if (message.kind === 'read metrics') send({ kind: 'metrics', metrics: await runtime.metrics.snapshot() });
  });
  let isServing = false;
  try {
    await using stack = new AsyncDisposableStack();
    // Ends last, with the spans of all else.
    stack.use(await startTracing({ service: ofService, ...runtime }));
    const service = stack.use(await createService(runtime, stack));
    await service.start();
    isServing = true;
    announceDrain = () => service.announceDrain?.();
    send({ kind: 'serving' });
    await service.drain?.(await drain.promise);
  } catch (thrown) {
    if (isServing) runtime.logger.error({ err: thrown }, 'a worker could not end in an orderly way');
    else send({ kind: 'failed', reason: startFailureText(name, thrown) });
    process.exitCode = 1;
  }
  process.disconnect?.();
}

function send(message: FromWorker): void {
  if (process.connected) process.send?.(message);
}

/** How the public port is listened on: the kernel spreads connections over workers; where it can't, Node's cluster does. */
export function sharedPortOptions(): { readonly reusePort?: true } {
  return cluster.isWorker && process.platform === 'linux' ? { reusePort: true } : {};
}
