import { GatewayError } from '@gateway/errors';
import { YieldBudget } from '@gateway/time';
import { slicesOf } from '../slices.ts';
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
  readonly #idle: TranslationWorker[] = [];
  readonly #all = new Set<TranslationWorker>();
  readonly #waiting: (() => void)[] = [];
  #heldBytes = 0;
  #busy = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({ workers, maxBytes }: TranslationPoolOptions) {
    this.#maxWorkers = workers;
    this.#maxBytes = maxBytes;
  }

  /**
   * Translates a body that came in pieces, in order of asking. They are copied once, since they stay with whoever may try
   * another account. Throws what the translation throws, `providers_unavailable` when too much waits already, and
   * `internal_error` when the thread breaks.
   */
  async translate(pieces: readonly Uint8Array[], order: TranslationOrder): Promise<TranslatedInWorker> {
    const size = pieces.reduce((sum, { length }) => sum + length, 0);
    if (this.#heldBytes > 0 && this.#heldBytes + size > this.#maxBytes) throw tooBusy();
    this.#heldBytes += size;
    try {
      await this.#turn();
      return await this.#translateNow(pieces, size, order);
    } finally {
      this.#heldBytes -= size;
      this.#giveTurn();
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
    const worker = this.#idle.pop() ?? this.#start(module);
    try {
      return await worker.translate({ body, context });
    } finally {
      if (worker.isAlive) this.#idle.push(worker);
      else this.#all.delete(worker);
    }
  }

  /** After a while in the queue nobody may want it any more. */
  #checkWanted(signal: AbortSignal): void {
    if (this.#isClosed || signal.aborted) throw tooBusy();
  }

  #start(module: URL): TranslationWorker {
    const worker = new TranslationWorker(module);
    this.#all.add(worker);
    return worker;
  }

  async #turn(): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#busy += 1;
    if (this.#busy > this.#maxWorkers) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #giveTurn(): void {
    this.#busy -= 1;
    this.#waiting.shift()?.();
    if (this.#busy === 0) this.#idleTimer = setTimeout(() => void this.#endAll(), idleMs).unref();
  }

  async #endAll(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const workers = [...this.#all];
    this.#all.clear();
    this.#idle.length = 0;
    await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()));
  }
}

/** How long threads are kept for the next large body. */
const idleMs = 60_000;

function tooBusy(): GatewayError {
  return new GatewayError('providers_unavailable', 'Too many large requests are under way; try again shortly.');
}

/** The pieces in memory that can be handed over, copied in turns of the event loop. */
async function copied(pieces: readonly Uint8Array[], size: number): Promise<Uint8Array<ArrayBuffer>> {
  const copy = new Uint8Array(size);
  const turns = new YieldBudget();
  let at = 0;
  for (const slice of slicesOf(pieces)) {
    copy.set(slice, at);
    at += slice.length;
    const turn = turns.spend(slice.length);
    if (turn !== undefined) await turn;
  }
  return copy;
}
