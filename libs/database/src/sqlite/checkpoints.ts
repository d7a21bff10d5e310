import { Worker } from 'node:worker_threads';
import type { CheckpointWork } from './checkpoint-thread.ts';

/**
 * Copies what was committed from the write-ahead log into the database file, in a thread of its own: a checkpoint waits
 * for the disk, some ten milliseconds and more, in which the thread that commits would answer no request.
 */
export class Checkpoints implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #ended: Promise<void>;

  constructor(path: string, intervalMs: number) {
    const workerData: CheckpointWork = { path, intervalMs };
    this.#worker = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), { workerData });
    this.#worker.unref();
    this.#ended = new Promise((resolve) => this.#worker.once('exit', () => resolve()));
    // Commits do checkpoints again when the log has grown too far: see `maxLogPages`.
    this.#worker.on('error', () => undefined);
  }

  /** The thread has closed the file when this resolves. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#worker.ref();
    this.#worker.postMessage('end');
    await this.#ended;
  }
}
