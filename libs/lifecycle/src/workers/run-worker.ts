import cluster from 'node:cluster';
import { createLogger, type LogLevel, Metrics, type MetricsSnapshot, startTracing } from '@gateway/telemetry';
import { startFailureText } from '../failed-process.ts';
import type { Service, ServiceRuntime } from '../service.ts';

/** Messages from the supervisor to a worker, over Node's IPC channel. */
export type ToWorker =
  /** Ask clients to use other processes. */
  | { readonly kind: 'announce drain' }
  /** Take no new work, let running work finish within this many milliseconds, and exit. */
  | { readonly kind: 'drain'; readonly timeoutMs: number }
  | { readonly kind: 'read metrics' };

/** Messages from a worker to its supervisor. */
export type FromWorker =
  | { readonly kind: 'serving' }
  /** The worker could not start. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'metrics'; readonly metrics: MetricsSnapshot };

interface WorkerOptions {
  /** Names the service in errors. */
  readonly name: string;
  /** Names the service in logs and traces. Default: `name`. */
  readonly service?: string;
  readonly logLevel: LogLevel;
  /** How long running work may take to finish when this process alone gets SIGTERM. */
  readonly drainTimeoutMs: number;
}

/**
 * Runs a service as one worker of a pool until the supervisor asks it to drain. If the supervisor
 * dies, Node's cluster module ends the worker at once. What is added to the stack is disposed after
 * the service.
 */
export async function runWorker(
  { name, service: ofService = name, logLevel, drainTimeoutMs }: WorkerOptions,
  createService: (runtime: ServiceRuntime, stack: AsyncDisposableStack) => Promise<Service>,
): Promise<void> {
  const runtime = { logger: createLogger(ofService, logLevel), metrics: Metrics.ofProcess() };
  const drain = Promise.withResolvers<number>();
  let announceDrain: (() => void) | undefined;
  // The terminal sends Ctrl-C to all processes: the supervisor decides what to do.
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
    // Disposed last, so that it sends the spans of everything else.
    stack.use(await startTracing({ service: ofService, ...runtime }));
    const service = stack.use(await createService(runtime, stack));
    await service.start();
    isServing = true;
    announceDrain = () => service.announceDrain?.();
    send({ kind: 'serving' });
    await service.drain?.(await drain.promise);
  } catch (thrown) {
    if (isServing) runtime.logger.error({ err: thrown }, 'a worker did not shut down cleanly');
    else send({ kind: 'failed', reason: startFailureText(name, thrown) });
    process.exitCode = 1;
  }
  process.disconnect?.();
}

function send(message: FromWorker): void {
  if (process.connected) process.send?.(message);
}

/**
 * Options to listen on the public port: the kernel distributes connections over workers; where it
 * can't, Node's cluster module does.
 */
export function sharedPortOptions(): { readonly reusePort?: true } {
  return cluster.isWorker && process.platform === 'linux' ? { reusePort: true } : {};
}
