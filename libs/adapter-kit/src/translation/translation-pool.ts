import { GatewayError, notNow } from '@gateway/errors';
import { timeoutSignal, yieldToEventLoop } from '@gateway/time';
import pLimit, { type LimitFunction } from 'p-limit';
import { Piscina } from 'piscina';
import type { TranslatedInWorker, TranslationContext, TranslationReply, TranslationTask } from './translation.ts';

interface TranslationPoolOptions {
  /** The module that threads run: it exports the result of `translationWorker` as `translate`. */
  readonly module: URL;
  /**
   * The maximum number of threads. They start when there is work, and end when there has been none
   * for a while.
   */
  readonly workers: number;
  /**
   * The total size in bytes of bodies that are being translated or wait; a single body may exceed
   * it.
   */
  readonly maxBytes: number;
}

/**
 * Translates large bodies in threads, so that the event loop is not blocked. Disposal ends the
 * threads.
 */
export class TranslationPool implements AsyncDisposable {
  readonly #threads: Piscina<TranslationTask, TranslationReply>;
  readonly #whenFree: LimitFunction;
  readonly #maxBytes: number;
  #bytes = 0;
  #isClosed = false;

  constructor({ module, workers, maxBytes }: TranslationPoolOptions) {
    const threads = { minThreads: 0, maxThreads: workers, idleTimeout: idleMs };
    const resourceLimits = { maxOldGenerationSizeMb: maxHeapMiB };
    this.#threads = new Piscina({ filename: module.href, name: 'translate', ...threads, resourceLimits });
    // A body is copied only when a thread is free, so that waiting bodies do not take twice the
    // memory.
    this.#whenFree = pLimit(workers);
    this.#maxBytes = maxBytes;
  }

  /**
   * Translates a body that arrived in pieces, in order of the calls. The pieces are copied, because
   * another account may be tried with them. Throws what the translation throws,
   * `providers_unavailable` when too much is already waiting, and `internal_error` when the thread
   * fails.
   */
  async translate(
    pieces: readonly Uint8Array[],
    context: TranslationContext,
    signal: AbortSignal,
  ): Promise<TranslatedInWorker> {
    const size = pieces.reduce((sum, { length }) => sum + length, 0);
    if (this.#bytes > 0 && this.#bytes + size > this.#maxBytes) throw tooBusy();
    this.#bytes += size;
    try {
      return await this.#whenFree(async () => {
        // The caller may have left while the request waited.
        this.#checkWanted(signal);
        const body = await copied(pieces, size);
        this.#checkWanted(signal);
        return this.#translateNow({ body, context });
      });
    } finally {
      this.#bytes -= size;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#threads.destroy();
  }

  /** Transfers the body's memory to the thread: the caller can't use it afterwards. */
  async #translateNow(task: TranslationTask): Promise<TranslatedInWorker> {
    // Piscina's type describes another overload of `postMessage`.
    const options = { transferList: [task.body.buffer] as object, signal: timeoutSignal(maxTranslationMs) };
    const reply = await this.#threads.run(task, options).catch((thrown: Error) => {
      const cause = new Error(`A translation failed: ${thrown.message}.`);
      throw new GatewayError('internal_error', 'The gateway failed to handle the request.', { cause });
    });
    if ('body' in reply) return reply;
    throw new GatewayError(reply.refusedFor, reply.message);
  }

  #checkWanted(signal: AbortSignal): void {
    if (this.#isClosed || signal.aborted) throw tooBusy();
  }
}

/** How long idle threads are kept for the next large body. */
const idleMs = 60_000;
/** Enough for the largest body in all its forms: bytes, text, values, text and bytes again. */
const maxHeapMiB = 1_024;
/** Far more than the largest body takes. */
const maxTranslationMs = 60_000;

/** Copies the pieces into memory that can be transferred. It yields to other work in between. */
async function copied(pieces: readonly Uint8Array[], size: number): Promise<Uint8Array<ArrayBuffer>> {
  const copy = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    copy.set(piece, at);
    at += piece.length;
    await yieldToEventLoop();
  }
  return copy;
}

function tooBusy(): GatewayError {
  return notNow('Too many large requests are in progress. Try again shortly.');
}
