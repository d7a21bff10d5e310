import cluster, { type Worker } from 'node:cluster';
import { on } from 'node:events';
import type { MetricsSnapshot } from '@gateway/telemetry';
import type { Service, ServiceRuntime } from '../service.ts';
import { StartFailure } from '../start-failure.ts';
import type { FromWorker, ToWorker } from './messages.ts';
import { portForWorkers } from './shared-port.ts';

export interface WorkerPoolOptions {
  /** The module that a worker runs: it calls `runWorker`. It reads the port from PORT. */
  readonly program: string;
  readonly args?: readonly string[];
  readonly count: number;
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
}

/** A service that listens on a public port of its own. */
export interface ListeningService extends Service {
  /** 0 before it listens. */
  readonly port: number;
}

/**
 * A service as several sibling processes that share its port, and this process as their supervisor: it starts them, replaces
 * those that die, shows their metrics, and ends them. A process has one pool at most. A worker that can't start fails the
 * start of all, in its own words.
 */
export function createWorkerPool(options: WorkerPoolOptions, { logger, metrics }: ServiceRuntime): ListeningService {
  let port = 0;
  let isStopping = false;
  let workers: readonly SupervisedWorker[] = [];
  const serving = () => workers.filter((worker) => worker.isServing);
  const servingGauge = metrics.gauge({ name: 'gateway_workers_serving', help: 'Worker processes that serve now.' });
  const losses = metrics.counter({
    name: 'gateway_worker_losses_total',
    help: 'Worker processes that ended without a stop, and were replaced.',
  });
  metrics.include(async () => {
    const read = serving().map(async ({ number, metrics }) => ({ worker: String(number), metrics: await metrics() }));
    // A worker that hangs must not hide the others.
    return (await Promise.allSettled(read)).flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  });
  const drain = async (timeoutMs: number) => {
    isStopping = true;
    await Promise.all(workers.map((worker) => worker.stop(timeoutMs)));
  };
  return {
    routes: [],
    get port() {
      return port;
    },
    async start() {
      const { program, args = [], count, host } = options;
      port = await portForWorkers(host, options.port);
      cluster.setupPrimary({ exec: program, args: [...args], serialization: 'advanced' });
      workers = Array.from({ length: count }, (_, index) => {
        const number = index + 1;
        return new SupervisedWorker(number, port, {
          onChange: () => servingGauge.set(serving().length),
          onLost: (pid, how, pauseMs) => {
            losses.inc();
            logger.error({ worker: number, pid, pauseMs }, `a worker ${how}; another one takes its place`);
          },
          onRestartFailed: (fault) => logger.error({ worker: number, err: fault }, 'a worker could not start'),
        });
      });
      const starts = await Promise.allSettled(workers.map((worker) => worker.start()));
      const failed = starts.find((start) => start.status === 'rejected');
      if (failed === undefined) return;
      await drain(0);
      throw failed.reason;
    },
    async notReady() {
      if (port === 0) return 'not listening yet';
      if (isStopping) return 'stopping';
      return serving().length === 0 ? 'no worker serves' : undefined;
    },
    drain,
    [Symbol.asyncDispose]: () => drain(0),
  };
}

interface WorkerEvents {
  readonly onChange: () => void;
  /** A process ended without a stop. Another one starts after the pause. */
  readonly onLost: (pid: number | undefined, how: string, pauseMs: number) => void;
  /** A replacement could not start. It is tried again. */
  readonly onRestartFailed: (thrown: unknown) => void;
}

/** One worker by its number. A process that dies is replaced: at once the first time, then with growing pauses. */
class SupervisedWorker {
  readonly number: number;
  readonly #port: number;
  readonly #events: WorkerEvents;
  #process: Worker | undefined;
  #isStopping = false;
  #failures = 0;
  #restart: NodeJS.Timeout | undefined;
  isServing = false;

  constructor(number: number, port: number, events: WorkerEvents) {
    this.number = number;
    this.#port = port;
    this.#events = events;
  }

  /** Starts a process; resolves when it serves. @throws StartFailure in its own words when it could not start. */
  async start(): Promise<void> {
    const worker = cluster.fork({ PORT: String(this.#port) });
    worker.on('error', () => undefined);
    this.#process = worker;
    const ended = endOf(worker);
    const started = await Promise.race([firstReport(worker), ended]);
    if (typeof started === 'object' && started.kind === 'failed') throw new StartFailure(started.reason);
    if (typeof started === 'string') throw new Error(`A worker ${started}.`);
    this.#set(true);
    const startedAtMs = Date.now();
    void ended.then((how) => this.#onEnded(worker.process.pid, how, Date.now() - startedAtMs));
  }

  /** @throws when the worker does not answer in time. */
  readonly metrics = async (): Promise<MetricsSnapshot> => {
    const worker = this.#process;
    if (worker === undefined) throw new Error('the worker is gone');
    const messages = on(worker, 'message', { signal: AbortSignal.timeout(metricsTimeoutMs), close: ['exit'] });
    send(worker, { kind: 'read metrics' });
    for await (const [message] of messages as AsyncIterable<[FromWorker]>) {
      if (message.kind === 'metrics') return message.metrics;
    }
    throw new Error('the worker ended');
  };

  /** Lets running work end within `timeoutMs`, then ends the process. Nothing is started here any more. */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#restart);
    const worker = this.#process;
    if (worker === undefined || worker.isDead()) return;
    const forced = setTimeout(() => worker.process.kill('SIGKILL'), timeoutMs + graceMs);
    send(worker, { kind: 'drain', timeoutMs });
    await endOf(worker);
    clearTimeout(forced);
  }

  #onEnded(pid: number | undefined, how: string, servedMs: number): void {
    this.#set(false);
    if (this.#isStopping) return;
    if (servedMs > stableMs) this.#failures = 0;
    this.#events.onLost(pid, how, this.#startAgain());
  }

  #startAgain(): number {
    const pauseMs = this.#failures === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (this.#failures - 1));
    this.#failures++;
    this.#restart = setTimeout(() => {
      this.start().catch((thrown: unknown) => {
        if (this.#isStopping) return;
        this.#events.onRestartFailed(thrown);
        this.#startAgain();
      });
    }, pauseMs);
    return pauseMs;
  }

  #set(isServing: boolean): void {
    this.isServing = isServing;
    this.#events.onChange();
  }
}

const metricsTimeoutMs = 2_000;
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** A process that served for so long did not fail from its beginning. */
const stableMs = 10_000;
/** Beyond the time that running work was given: to write down what is left, and to exit. */
const graceMs = 5_000;

/** What a new worker says first: that it serves, or why it can't. */
async function firstReport(worker: Worker): Promise<Extract<FromWorker, { kind: 'serving' | 'failed' }>> {
  for await (const [message] of on(worker, 'message') as AsyncIterable<[FromWorker]>) {
    if (message.kind === 'serving' || message.kind === 'failed') return message;
  }
  throw new Error('unreachable: the messages of a worker do not end');
}

/** How a process ended: `was killed by SIGKILL`. */
function endOf(worker: Worker): Promise<string> {
  return new Promise((resolve) => {
    worker.once('exit', (code, signal) => resolve(signal ? `was killed by ${signal}` : `ended with code ${code}`));
  });
}

/** Without effect on a worker that is gone. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message);
}
