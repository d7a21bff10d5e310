import { Worker } from 'node:worker_threads';
import { GatewayError } from '@gateway/errors';
import {
  type TranslatedInWorker,
  type TranslationReply,
  type TranslationTask,
  translationFailed,
} from './translation.ts';

/** One thread that translates one request at a time. Disposing it ends the thread, whatever it does. */
export class TranslationWorker implements AsyncDisposable {
  readonly module: URL;
  readonly #worker: Worker;
  #task: PromiseWithResolvers<TranslatedInWorker> | undefined;
  #isAlive = true;

  constructor(module: URL) {
    this.module = module;
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
  async translate(task: TranslationTask & { readonly body: Uint8Array<ArrayBuffer> }): Promise<TranslatedInWorker> {
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
