import { setImmediate as nextTick } from 'node:timers/promises';
import { GatewayError } from '@gateway/errors';
import pLimit, { type LimitFunction } from 'p-limit';
import { Piscina } from 'piscina';
import type { TranslatedInWorker, TranslationContext, TranslationReply, TranslationTask } from './translation.ts';

interface TranslationPoolOptions {
  /** What the threads run: a module that exports what `translationWorker` makes, as `translate`. */
  readonly module: URL;
  /** Threads at most. They are started when there is work for them, and end when there has been none for a while. */
  readonly workers: number;
  /** Bodies that are translated or wait for it, in bytes; one alone may be larger. */
  readonly maxBytes: number;
}

/** Translates large bodies in threads of its own, so that the event loop goes on. Disposing it ends them. */
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
    // Bodies are copied when a thread is free, and not before: those that wait take no memory twice.
    this.#whenFree = pLimit(workers);
    this.#maxBytes = maxBytes;
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
    if (this.#bytes > 0 && this.#bytes + size > this.#maxBytes) throw tooBusy();
    this.#bytes += size;
    try {
      return await this.#whenFree(async () => {
        // After a while in the queue the caller may be gone.
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

  /** The body's memory goes to the thread: the caller has it no more. */
  async #translateNow(task: TranslationTask): Promise<TranslatedInWorker> {
    // Piscina's type is that of another form of `postMessage`.
    const options = { transferList: [task.body.buffer] as object, signal: AbortSignal.timeout(maxTranslationMs) };
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

/** How long threads are kept for the next large body. */
const idleMs = 60_000;
/** Enough for the largest body in each of its forms: bytes, text, values, text and bytes again. */
const maxHeapMiB = 1_024;
/** Far more than the largest body takes. */
const maxTranslationMs = 60_000;

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

function tooBusy(): GatewayError {
  return new GatewayError('providers_unavailable', 'Too many large requests are under way; try again shortly.');
}
