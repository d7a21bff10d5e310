import cluster, { type Worker } from 'node:cluster';
import { on, once } from 'node:events';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import type { EnvReader } from '@gateway/config';
import type { MetricsSnapshot } from '@gateway/telemetry';
import { cancelTimer, monotonicMs, sleep, startTimer, timeoutSignal } from '@gateway/time';
import { StartFailure } from '../failed-process.ts';
import type { Service, ServiceRuntime } from '../service.ts';
import type { FromWorker, ToWorker } from './run-worker.ts';

interface WorkerPoolOptions {
  /** The module that a worker executes: it calls `runWorker` and reads the port from PORT. */
  readonly program: string;
  readonly args?: readonly string[];
  readonly count: number;
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
}

const metricsTimeoutMs = 2_000;
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** A process that served for this long did not fail at its start. */
const stableMs = 10_000;
/** Time beyond the drain timeout to write down what is left and to exit. */
const graceMs = 5_000;

/**
 * Runs a service as several processes that share its port, with this process as their supervisor. A
 * process has at most one pool. If a worker can't start, the start of the whole pool fails with the
 * worker's message.
 */
export function createWorkerPool(
  options: WorkerPoolOptions,
  { logger, metrics }: ServiceRuntime,
): Service & { readonly port: number } {
  let port = 0;
  const stop = new AbortController();
  const serving = new Map<number, Worker>();
  const servingGauge = metrics.gauge({
    name: 'gateway_workers_serving',
    help: 'Worker processes that serve requests.',
  });
  const losses = metrics.counter({
    name: 'gateway_worker_losses_total',
    help: 'Worker processes that ended unexpectedly and were replaced.',
  });
  metrics.include(async () => {
    const read = [...serving].map(async ([worker, each]) => ({ worker: `${worker}`, metrics: await metricsOf(each) }));
    // A worker that hangs must not hide the metrics of the others.
    return (await Promise.allSettled(read)).flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  });

  /**
   * Keeps one worker running: the first restart is immediate, later ones follow after growing
   * pauses.
   */
  const supervise = async (number: number, firstServes: PromiseWithResolvers<void>) => {
    for (let failures = 0, hasServed = false; !stop.signal.aborted; failures++) {
      const worker = cluster.fork({ PORT: String(port) }).on('error', () => undefined);
      const ended = endOf(worker);
      try {
        await untilServing(worker);
        hasServed = true;
        firstServes.resolve();
        const sinceMs = monotonicMs();
        servingGauge.set(serving.set(number, worker).size);
        const how = await ended;
        serving.delete(number);
        servingGauge.set(serving.size);
        if (stop.signal.aborted) return;
        if (monotonicMs() - sinceMs > stableMs) failures = 0;
        losses.inc();
        const [{ pid }, pauseMs] = [worker.process, pauseAfter(failures)];
        logger.error({ worker: number, pid, pause_ms: pauseMs }, `a worker ${how}; restarting it`);
      } catch (thrown) {
        if (!hasServed) return firstServes.reject(thrown);
        if (!stop.signal.aborted) logger.error({ worker: number, err: thrown }, 'a worker could not start');
      }
      await sleep(pauseAfter(failures), { signal: stop.signal }).catch(() => undefined);
    }
  };
  const drain = async (timeoutMs: number) => {
    stop.abort();
    await Promise.all(Object.values(cluster.workers ?? {}).map((worker) => worker && endWorker(worker, timeoutMs)));
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
      const starts = Array.from({ length: count }, (_, index) => {
        const firstServes = Promise.withResolvers<void>();
        void supervise(index + 1, firstServes);
        return firstServes.promise;
      });
      const failed = (await Promise.allSettled(starts)).find((start) => start.status === 'rejected');
      if (failed === undefined) return;
      await drain(0);
      throw failed.reason;
    },
    async notReady() {
      if (port === 0) return 'not listening yet';
      if (stop.signal.aborted) return 'stopping';
      return serving.size === 0 ? 'no worker is ready' : undefined;
    },
    announceDrain() {
      for (const worker of serving.values()) send(worker, { kind: 'announce drain' });
    },
    drain,
    [Symbol.asyncDispose]: () => drain(0),
  };
}

/** How the worker's process ended: `was killed by SIGKILL`. */
function endOf(worker: Worker): Promise<string> {
  return new Promise((resolve) => {
    worker.once('exit', (code, signal) => resolve(signal ? `was killed by ${signal}` : `ended with code ${code}`));
  });
}

/** @throws StartFailure with the worker's message when the worker can't start. */
async function untilServing(worker: Worker): Promise<void> {
  for await (const message of messagesOf(worker)) {
    if (message.kind === 'serving') return;
    if (message.kind === 'failed') throw new StartFailure(message.reason);
  }
  throw new Error('A worker ended before it was ready.');
}

/** @throws when the worker does not answer in time. */
async function metricsOf(worker: Worker): Promise<MetricsSnapshot> {
  const messages = messagesOf(worker, timeoutSignal(metricsTimeoutMs));
  send(worker, { kind: 'read metrics' });
  for await (const message of messages) if (message.kind === 'metrics') return message.metrics;
  throw new Error('the worker ended');
}

/** Lets running work finish within `timeoutMs`, then ends the process. */
async function endWorker(worker: Worker, timeoutMs: number): Promise<void> {
  if (worker.isDead()) return;
  const forced = startTimer(() => worker.process.kill('SIGKILL'), timeoutMs + graceMs);
  send(worker, { kind: 'drain', timeoutMs });
  await endOf(worker);
  cancelTimer(forced);
}

/** The messages of a worker from now on, until it exits. */
async function* messagesOf(worker: Worker, signal?: AbortSignal): AsyncGenerator<FromWorker> {
  for await (const [message] of on(worker, 'message', { signal, close: ['exit'] })) yield message;
}

/** Does nothing if the worker is gone. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message);
}

function pauseAfter(failures: number): number {
  return failures === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1));
}

/**
 * Returns the port, or a free one for 0. Workers share the port with any process, so this detects a
 * process that already listens on it.
 * @throws `EADDRINUSE`
 */
async function portForWorkers(host: string, port: number): Promise<number> {
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : port;
}

const maxWorkers = 256;

/**
 * Number of worker processes in a setting: a whole number, or `auto` for one per core. Default: 1.
 */
export function readWorkerCount(reader: EnvReader, setting: string, flag = ''): number {
  const text = reader.string(setting, '1');
  if (text === 'auto') return availableParallelism();
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= maxWorkers) return count;
  reader.problem(`${setting}${flag} must be auto or a number from 1 to ${maxWorkers}, not "${text}".`);
  return 1;
}
