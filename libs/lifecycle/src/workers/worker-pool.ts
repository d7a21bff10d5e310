import cluster, { type Worker } from 'node:cluster';
import { on } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MetricsSnapshot } from '@gateway/telemetry';
import { StartFailure } from '../failed-process.ts';
import type { Service, ServiceRuntime } from '../service.ts';
import type { FromWorker, ToWorker } from './run-worker.ts';
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
  const { program, args = [], count, host } = options;
  let port = 0;
  const stop = new AbortController();
  /** The latest process of each worker. */
  const processes = new Map<number, WorkerProcess>();
  const serving = () => [...processes].filter(([, { isServing }]) => isServing);
  const servingGauge = metrics.gauge({ name: 'gateway_workers_serving', help: 'Worker processes that serve now.' });
  const losses = metrics.counter({
    name: 'gateway_worker_losses_total',
    help: 'Worker processes that ended without a stop, and were replaced.',
  });
  metrics.include(async () => {
    const read = serving().map(async ([number, each]) => ({ worker: String(number), metrics: await metricsOf(each) }));
    // A worker that hangs must not hide the others.
    return (await Promise.allSettled(read)).flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  });

  const forkWorker = async (number: number) => {
    const current: WorkerProcess = newProcess(cluster.fork({ PORT: String(port) }));
    processes.set(number, current);
    await startOf(current);
    current.isServing = true;
    servingGauge.set(serving().length);
    return current;
  };
  /** Replaces the process of a worker whenever it ends: at once the first time, then with growing pauses. */
  const supervise = async (number: number, first: WorkerProcess) => {
    let current: WorkerProcess | undefined = first;
    for (let failures = 0; ; failures++) {
      let pauseMs = pauseAfter(failures);
      if (current !== undefined) {
        const servingSinceMs = performance.now();
        const how = await current.ended;
        current.isServing = false;
        servingGauge.set(serving().length);
        if (stop.signal.aborted) return;
        if (performance.now() - servingSinceMs > stableMs) failures = 0;
        pauseMs = pauseAfter(failures);
        losses.inc();
        const pid = current.worker.process.pid;
        logger.error({ worker: number, pid, pauseMs }, `a worker ${how}; another one takes its place`);
      }
      await sleep(pauseMs, undefined, { signal: stop.signal }).catch(() => undefined);
      if (stop.signal.aborted) return;
      current = await forkWorker(number).catch((thrown: unknown) => {
        if (!stop.signal.aborted) logger.error({ worker: number, err: thrown }, 'a worker could not start');
        return undefined;
      });
    }
  };
  const drain = async (timeoutMs: number) => {
    stop.abort();
    await Promise.all([...processes.values()].map((current) => endProcess(current, timeoutMs)));
  };
  return {
    routes: [],
    get port() {
      return port;
    },
    async start() {
      port = await portForWorkers(host, options.port);
      cluster.setupPrimary({ exec: program, args: [...args], serialization: 'advanced' });
      const starts = Array.from({ length: count }, async (_, index) => {
        const first = await forkWorker(index + 1);
        void supervise(index + 1, first);
      });
      const failed = (await Promise.allSettled(starts)).find((start) => start.status === 'rejected');
      if (failed === undefined) return;
      await drain(0);
      throw failed.reason;
    },
    async notReady() {
      if (port === 0) return 'not listening yet';
      if (stop.signal.aborted) return 'stopping';
      return serving().length === 0 ? 'no worker serves' : undefined;
    },
    drain,
    [Symbol.asyncDispose]: () => drain(0),
  };
}

interface WorkerProcess {
  readonly worker: Worker;
  /** How it ended: `was killed by SIGKILL`. */
  readonly ended: Promise<string>;
  isServing: boolean;
}

function newProcess(worker: Worker): WorkerProcess {
  worker.on('error', () => undefined);
  const ended = new Promise<string>((resolve) => {
    worker.once('exit', (code, signal) => resolve(signal ? `was killed by ${signal}` : `ended with code ${code}`));
  });
  return { worker, ended, isServing: false };
}

/** Resolves when the process serves. @throws StartFailure in its own words when it could not start. */
async function startOf({ worker, ended }: WorkerProcess): Promise<void> {
  const started = await Promise.race([firstReport(worker), ended]);
  if (typeof started === 'string') throw new Error(`A worker ${started}.`);
  if (started.kind === 'failed') throw new StartFailure(started.reason);
}

/** What a new worker says first: that it serves, or why it can't. */
async function firstReport(worker: Worker): Promise<Extract<FromWorker, { kind: 'serving' | 'failed' }>> {
  for await (const [message] of on(worker, 'message') as AsyncIterable<[FromWorker]>) {
    if (message.kind === 'serving' || message.kind === 'failed') return message;
  }
  throw new Error('unreachable: the messages of a worker do not end');
}

/** @throws when the worker does not answer in time. */
async function metricsOf({ worker }: WorkerProcess): Promise<MetricsSnapshot> {
  const messages = on(worker, 'message', { signal: AbortSignal.timeout(metricsTimeoutMs), close: ['exit'] });
  send(worker, { kind: 'read metrics' });
  for await (const [message] of messages as AsyncIterable<[FromWorker]>) {
    if (message.kind === 'metrics') return message.metrics;
  }
  throw new Error('the worker ended');
}

/** Lets running work end within `timeoutMs`, then ends the process. */
async function endProcess({ worker, ended }: WorkerProcess, timeoutMs: number): Promise<void> {
  if (worker.isDead()) return;
  const forced = setTimeout(() => worker.process.kill('SIGKILL'), timeoutMs + graceMs);
  send(worker, { kind: 'drain', timeoutMs });
  await ended;
  clearTimeout(forced);
}

/** Without effect on a worker that is gone. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message);
}

function pauseAfter(failures: number): number {
  return failures === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1));
}

const metricsTimeoutMs = 2_000;
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** A process that served for so long did not fail from its beginning. */
const stableMs = 10_000;
/** Beyond the time that running work was given: to write down what is left, and to exit. */
const graceMs = 5_000;
