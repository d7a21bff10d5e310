import { setImmediate as nextTick } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { GatewayError } from '@gateway/errors';
import type { TranslatedInWorker, TranslationContext, TranslationReply, TranslationTask } from './translation.ts';

export interface TranslationPoolOptions {
  /** What the threads run: a module that calls `serveTranslations`. */
  readonly module: URL;
  /** Threads at most. They are started when there is work for them, and end when there has been none for a while. */
  readonly workers: number;
  /** Bodies that are translated or wait for it, in bytes; one alone may be larger. */
  readonly maxBytes: number;
}

/** Translates large bodies in threads of its own, so that the event loop goes on. Disposing it ends them. */
export class TranslationPool implements AsyncDisposable {
  readonly #options: TranslationPoolOptions;
  #idle: TranslationWorker[] = [];
  readonly #all = new Set<TranslationWorker>();
  readonly #waiting: (() => void)[] = [];
  #bytes = 0;
  #busy = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: TranslationPoolOptions) {
    this.#options = options;
  }

  /**
   * Translates a body that came in pieces, in order of asking. They are copied once, since another account may be tried with
   * them. Throws what the translation throws, `providers_unavailable` when too much waits already, and `internal_error`
   * when the thread breaks.
   */
  async translate(
    pieces: readonly Uint8Array[],
    context: TranslationContext,
    signal: AbortSignal,
  ): Promise<TranslatedInWorker> {
    const size = pieces.reduce((sum, { length }) => sum + length, 0);
    if (this.#bytes > 0 && this.#bytes + size > this.#options.maxBytes) throw tooBusy();
    this.#bytes += size;
    await this.#acquire();
    try {
      // After a while in the queue the caller may be gone.
      this.#checkWanted(signal);
      const body = await copied(pieces, size);
      this.#checkWanted(signal);
      return await this.#translateNow({ body, context });
    } finally {
      this.#bytes -= size;
      this.#release();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#endAll();
  }

  async #translateNow(task: WorkerTask): Promise<TranslatedInWorker> {
    const worker = this.#idle.pop() ?? new TranslationWorker(this.#options.module);
    this.#all.add(worker);
    try {
      return await worker.translate(task);
    } finally {
      if (worker.isAlive) this.#idle.push(worker);
      else this.#all.delete(worker);
    }
  }

  #checkWanted(signal: AbortSignal): void {
    if (this.#isClosed || signal.aborted) throw tooBusy();
  }

  async #acquire(): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#busy += 1;
    if (this.#busy > this.#options.workers) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #release(): void {
    this.#busy -= 1;
    this.#waiting.shift()?.();
    if (this.#busy === 0) this.#idleTimer = setTimeout(() => void this.#endAll(), idleMs).unref();
  }

  async #endAll(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const workers = [...this.#all];
    this.#all.clear();
    this.#idle = [];
    await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()));
  }
}

/** How long threads are kept for the next large body. */
const idleMs = 60_000;

function tooBusy(): GatewayError {
  return new GatewayError('providers_unavailable', 'Too many large requests are under way; try again shortly.');
}

/** The pieces in memory that can be handed over. Other work goes on between them. */
async function copied(pieces: readonly Uint8Array[], size: number): Promise<Uint8Array<ArrayBuffer>> {
  const copy = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    copy.set(piece, at);
    at += piece.length;
    await nextTick();
  }
  return copy;
}

/** The body's memory goes to the thread. */
type WorkerTask = TranslationTask & { readonly body: Uint8Array<ArrayBuffer> };

/** One thread that translates one request at a time. Disposing it ends the thread, whatever it does. */
class TranslationWorker implements AsyncDisposable {
  readonly #worker: Worker;
  #task: PromiseWithResolvers<TranslatedInWorker> | undefined;
  #isAlive = true;

  constructor(module: URL) {
    this.#worker = new Worker(module, { resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB } });
    this.#worker.unref();
    this.#worker.on('message', (reply: TranslationReply) => this.#onReply(reply));
    this.#worker.on('error', (thrown) => this.#onEnd(thrown instanceof Error ? thrown.name : typeof thrown));
    this.#worker.on('exit', () => this.#onEnd('the worker ended'));
  }

  /** False once the thread has ended: the worker is of no use then. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** The body's memory goes along: the caller has it no more. Throws what the translation throws, and `internal_error`. */
  async translate(task: WorkerTask): Promise<TranslatedInWorker> {
    this.#task = Promise.withResolvers();
    const timer = setTimeout(() => void this[Symbol.asyncDispose](), maxTranslationMs);
    this.#worker.postMessage(task, [task.body.buffer]);
    try {
      return await this.#task.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isAlive = false;
    await this.#worker.terminate();
  }

  #onReply(reply: TranslationReply): void {
    if (reply.kind === 'translated') this.#task?.resolve(reply.translated);
    else if (reply.kind === 'refused') this.#task?.reject(new GatewayError(reply.code, reply.message));
    else this.#task?.reject(translationFailed(reply.reason));
  }

  #onEnd(reason: string): void {
    this.#isAlive = false;
    this.#task?.reject(translationFailed(reason));
  }
}

/** Enough for the largest body in each of its forms: bytes, text, values, text and bytes again. */
const maxHeapMiB = 1_024;
/** Far more than the largest body takes. */
const maxTranslationMs = 60_000;

function translationFailed(reason: string): GatewayError {
  return new GatewayError('internal_error', 'The gateway failed to handle the request.', {
    cause: new Error(`A translation failed: ${reason}.`),
  });
}
