import cluster from 'node:cluster';
import { answerInBytes, type Client, clientInBytes, type ServiceRoute } from '@gateway/rpc';
import type { WorkerMetrics } from '@gateway/telemetry';
import type { ServiceRuntime } from '../service.ts';
import { WorkerSlot } from './worker-slot.ts';

export interface WorkerPoolOptions {
  /** The module that a worker runs: it calls `runWorker`. */
  readonly program: string;
  readonly args?: readonly string[];
  readonly count: number;
  /** What workers may call in this process, given the number of the one that calls. */
  readonly routesFor?: (worker: number) => readonly ServiceRoute[];
}

/** How long a worker may take to answer a question. */
const askTimeoutMs = 2_000;

/**
 * Worker processes that share the listening port of one of them all, and the process that this is, which accepts their
 * connections and hands them out in turns. A process has one pool at most.
 */
export class WorkerPool implements AsyncDisposable {
  readonly #slots: readonly WorkerSlot[];
  #isStopping = false;

  /**
   * Starts all workers; resolves when all serve.
   *
   * @throws Error with the words of one that could not start.
   */
  static async start(options: WorkerPoolOptions, runtime: ServiceRuntime): Promise<WorkerPool> {
    cluster.setupPrimary({ exec: options.program, args: [...(options.args ?? [])], serialization: 'advanced' });
    const pool = new WorkerPool(options, runtime);
    const starts = await Promise.allSettled(pool.#slots.map((slot) => slot.start()));
    const failed = starts.find((start) => start.status === 'rejected');
    if (failed === undefined) return pool;
    await pool.drain(0);
    throw failed.reason;
  }

  private constructor({ count, routesFor = () => [] }: WorkerPoolOptions, { logger, metrics }: ServiceRuntime) {
    const serving = metrics.gauge({ name: 'gateway_workers_serving', help: 'Worker processes that serve now.' });
    const lost = metrics.counter({
      name: 'gateway_worker_losses_total',
      help: 'Worker processes that ended without being told to, and were replaced.',
    });
    this.#slots = Array.from({ length: count }, (_, index) => {
      const number = index + 1;
      const routes = routesFor(number);
      return new WorkerSlot({
        number,
        call: (call) => answerInBytes(routes, call),
        onChange: () => serving.set(this.#servingSlots.length),
        onLost: (pid, how, pauseMs) => {
          lost.inc();
          logger.error({ worker: number, pid, pauseMs }, `a worker ${how}; another one takes its place`);
        },
        onRestartFailed: (fault) => logger.error({ worker: number, err: fault }, 'a worker could not start'),
      });
    });
    metrics.include(() => this.#workerMetrics());
  }

  /** The port that they share. */
  get port(): number {
    return this.#servingSlots[0]?.port ?? 0;
  }

  /** Why requests can't be taken now; undefined when a worker takes them. */
  get notReady(): string | undefined {
    if (this.#isStopping) return 'stopping';
    return this.#servingSlots.length === 0 ? 'no worker serves' : undefined;
  }

  /** Clients of a service that every worker offers, by the worker's number; of those that serve now. */
  clients<S extends ServiceRoute['service']>(service: S): ReadonlyMap<number, Client<S>> {
    return new Map(
      this.#servingSlots.map(({ number, dialogue }) => [
        number,
        clientInBytes(service, async (call) => dialogue.ask('call', call, askTimeoutMs)),
      ]),
    );
  }

  /** Workers take nothing new, let running work end within `timeoutMs`, and leave. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#slots.map((slot) => slot.stop(timeoutMs)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(0);
  }

  get #servingSlots() {
    return this.#slots.flatMap(({ number, port, dialogue }) =>
      port === undefined || dialogue === undefined ? [] : [{ number, port, dialogue }],
    );
  }

  /** Of those that answer: a worker that hangs must not hide the others. */
  async #workerMetrics(): Promise<readonly WorkerMetrics[]> {
    const answers = await Promise.allSettled(
      this.#servingSlots.map(async ({ number, dialogue }) => ({
        worker: String(number),
        metrics: await dialogue.ask('metrics', undefined, askTimeoutMs),
      })),
    );
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  }
}
