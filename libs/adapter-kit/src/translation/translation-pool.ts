import { setImmediate as nextTick } from 'node:timers/promises';
import { GatewayError } from '@gateway/errors';
import type { TranslatedInWorker, TranslationContext } from './translation.ts';
import { TranslationWorker } from './translation-worker.ts';

export interface TranslationPoolOptions {
  /** Threads at most. They are started when there is work for them, and end when there has been none for a while. */
  readonly workers: number;
  /** Bodies that are translated or wait for it, in bytes; one alone may be larger. */
  readonly maxBytes: number;
}

export interface TranslationOrder {
  /** The module whose threads translate. */
  readonly module: URL;
  readonly context: TranslationContext;
  readonly signal: AbortSignal;
}

/** Translates large bodies in threads of its own, so that the event loop goes on. Disposing it ends them. */
export class TranslationPool implements AsyncDisposable {
  readonly #maxWorkers: number;
  readonly #maxBytes: number;
  #idle: TranslationWorker[] = [];
  readonly #all = new Set<TranslationWorker>();
  readonly #waiting: (() => void)[] = [];
  #bytes = 0;
  #busy = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({ workers, maxBytes }: TranslationPoolOptions) {
    this.#maxWorkers = workers;
    this.#maxBytes = maxBytes;
  }

  /**
   * Translates a body that came in pieces, in order of asking. They are copied once, since another account may be tried with
   * them. Throws what the translation throws, `providers_unavailable` when too much waits already, and `internal_error`
   * when the thread breaks.
   */
  async translate(pieces: readonly Uint8Array[], order: TranslationOrder): Promise<TranslatedInWorker> {
    const size = pieces.reduce((sum, { length }) => sum + length, 0);
    if (this.#bytes > 0 && this.#bytes + size > this.#maxBytes) throw tooBusy();
    this.#bytes += size;
    await this.#acquire();
    try {
      return await this.#translateNow(pieces, size, order);
    } finally {
      this.#bytes -= size;
      this.#release();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#endAll();
  }

  async #translateNow(
    pieces: readonly Uint8Array[],
    size: number,
    { module, context, signal }: TranslationOrder,
  ): Promise<TranslatedInWorker> {
    this.#checkWanted(signal);
    const body = await copied(pieces, size);
    this.#checkWanted(signal);
    const worker = this.#takeIdle(module) ?? this.#start(module);
    try {
      return await worker.translate({ body, context });
    } finally {
      if (worker.isAlive) this.#idle.push(worker);
      else this.#all.delete(worker);
    }
  }

  /** After a while in the queue the caller may be gone. */
  #checkWanted(signal: AbortSignal): void {
    if (this.#isClosed || signal.aborted) throw tooBusy();
  }

  #takeIdle({ href }: URL): TranslationWorker | undefined {
    const worker = this.#idle.find(({ module }) => module.href === href);
    this.#idle = this.#idle.filter((each) => each !== worker);
    return worker;
  }

  /** In place of an idle thread of another module, when there are as many as may be. */
  #start(module: URL): TranslationWorker {
    const replaced = this.#all.size >= this.#maxWorkers ? this.#idle.shift() : undefined;
    if (replaced !== undefined) {
      this.#all.delete(replaced);
      void replaced[Symbol.asyncDispose]();
    }
    const worker = new TranslationWorker(module);
    this.#all.add(worker);
    return worker;
  }

  async #acquire(): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#busy += 1;
    if (this.#busy > this.#maxWorkers) await new Promise<void>((resolve) => this.#waiting.push(resolve));
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
