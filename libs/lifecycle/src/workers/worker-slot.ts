import cluster, { type Worker } from 'node:cluster';
import { StartFailure } from '../start-failure.ts';
import type { PrimaryContract, WorkerContract } from './contracts.ts';
import { Dialogue } from './dialogue.ts';
import { giveBackConnectionsOf } from './handed-connections.ts';

/** How a process ended: `was killed by SIGKILL`. */
export type HowItEnded = string;

export interface WorkerSlotOptions {
  /** Counted from 1; it stays when the process in it is replaced. */
  readonly number: number;
  /** Answers the calls of the worker. */
  readonly call: PrimaryContract['call'];
  /** Told when what `dialogue` is changes. */
  readonly onChange: () => void;
  /** Told when a process ended that nobody told to. Another one comes after the pause. */
  readonly onLost: (pid: number | undefined, how: HowItEnded, pauseMs: number) => void;
  /** Told when what was to replace it could not start. It is tried again. */
  readonly onRestartFailed: (thrown: unknown) => void;
}

const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** A process that served for so long was no failure from its beginning. */
const stableMs = 10_000;

/** The place of one worker process: what dies in it is replaced, at once at first, and with pauses when it goes on dying. */
export class WorkerSlot {
  readonly number: number;
  readonly #options: WorkerSlotOptions;
  #worker: Worker | undefined;
  #dialogue: Dialogue<PrimaryContract, WorkerContract> | undefined;
  #port: number | undefined;
  #isStopping = false;
  #hasServed = false;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WorkerSlotOptions) {
    this.number = options.number;
    this.#options = options;
  }

  /** Undefined while no process serves in this place. */
  get port(): number | undefined {
    return this.#port;
  }

  /** The way to the process that serves in this place. */
  get dialogue(): Dialogue<PrimaryContract, WorkerContract> | undefined {
    return this.#port === undefined ? undefined : this.#dialogue;
  }

  /**
   * Starts the first process; resolves when it serves.
   *
   * @throws Error with its own words when it could not start. Then there is none, and no other is started.
   */
  async start(): Promise<void> {
    const first = Promise.withResolvers<void>();
    this.#fork(first);
    await first.promise;
  }

  /** Lets running work end within `timeoutMs`, then ends the process. Nothing is started here any more. */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    const worker = this.#worker;
    if (worker === undefined) return;
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    const forced = setTimeout(() => worker.process.kill('SIGKILL'), timeoutMs + graceMs);
    // One that is gone, or hangs, does not answer: it ends, or is ended.
    await this.#dialogue?.ask('drain', timeoutMs, graceMs).catch(() => undefined);
    await ended;
    clearTimeout(forced);
  }

  #fork(started: PromiseWithResolvers<void>): void {
    const worker = cluster.fork();
    giveBackConnectionsOf(worker);
    const dialogue = new Dialogue<PrimaryContract, WorkerContract>(
      {
        send: (message) => worker.isConnected() && worker.send(message),
        listen: (onMessage) => worker.on('message', onMessage),
      },
      {
        serving: (port) => {
          this.#port = port;
          this.#hasServed = true;
          this.#timer = setTimeout(() => this.#onStable(), stableMs).unref();
          this.#options.onChange();
          started.resolve();
        },
        failed: (reason) => started.reject(new StartFailure(reason)),
        call: this.#options.call,
      },
    );
    this.#worker = worker;
    this.#dialogue = dialogue;
    worker.on('error', () => undefined);
    worker.once('exit', (code, signal) => {
      dialogue[Symbol.dispose]();
      const how = signal ? `was killed by ${signal}` : `ended with code ${code}`;
      started.reject(new Error(`A worker ${how}.`));
      this.#onEnded(worker.process.pid, how);
    });
  }

  #onStable(): void {
    this.#failures = 0;
  }

  #onEnded(pid: number | undefined, how: HowItEnded): void {
    clearTimeout(this.#timer);
    this.#worker = undefined;
    this.#dialogue = undefined;
    this.#port = undefined;
    this.#options.onChange();
    if (this.#isStopping || !this.#hasServed) return;
    const pauseMs = this.#failures === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (this.#failures - 1));
    this.#failures++;
    this.#options.onLost(pid, how, pauseMs);
    this.#timer = setTimeout(() => this.#forkAgain(), pauseMs);
  }

  #forkAgain(): void {
    const started = Promise.withResolvers<void>();
    started.promise.catch((thrown: unknown) => this.#options.onRestartFailed(thrown));
    this.#fork(started);
  }
}

/** Beyond the time that work was given: to write down what is left, and to go. */
const graceMs = 5_000;
