import { UpstreamError } from './upstream-error.ts';
import type { ExchangeListener, UpstreamExchange, UpstreamHead } from './upstream-exchange.ts';

/**
 * Reads an exchange by waiting for it: for answers that are rare or small. Bytes that are not taken yet are queued up to a
 * bound; then the exchange is paused.
 */
export class ExchangeReader implements ExchangeListener, Disposable {
  readonly exchange: UpstreamExchange;
  #head: UpstreamHead | undefined;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #isOver = false;
  #error: UpstreamError | undefined;
  #wake: (() => void) | undefined;

  /** @param begin gives the exchange that tells this listener @param head when the exchange has told it already */
  constructor(begin: (listener: ExchangeListener) => UpstreamExchange, head?: UpstreamHead) {
    this.#head = head;
    this.exchange = begin(this);
  }

  /** The head of the answer. Throws UpstreamError. */
  async head(): Promise<UpstreamHead> {
    while (this.#head === undefined) {
      if (this.#isOver) throw this.#error ?? new UpstreamError('network', 'The connection ended without an answer.');
      await this.#change();
    }
    return this.#head;
  }

  /** The body's bytes that have come since the last call, waiting for some; undefined at the end. Throws UpstreamError. */
  async read(): Promise<readonly Buffer[] | undefined> {
    while (this.#queue.length === 0) {
      if (this.#error !== undefined) throw this.#error;
      if (this.#isOver) return undefined;
      await this.#change();
    }
    return this.#takeQueue();
  }

  /** Another listener is told all that was not read yet, and what follows. It is not told the head. */
  handOver(listener: ExchangeListener): void {
    this.exchange.tell(listener);
    for (const bytes of this.#queue) listener.onBytes(bytes);
    // Last, for what comes meanwhile follows.
    this.#takeQueue();
    if (this.#error !== undefined) listener.onError(this.#error);
    else if (this.#isOver) listener.onEnd();
  }

  /** Closes the connection unless the answer has ended or was released. */
  [Symbol.dispose](): void {
    this.exchange[Symbol.dispose]();
  }

  onHead(head: UpstreamHead): void {
    this.#head = head;
    this.#notify();
  }

  onBytes(bytes: Buffer): void {
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    if (this.#queuedBytes >= maxQueuedBytes) this.exchange.pause();
    this.#notify();
  }

  onEnd(): void {
    this.#isOver = true;
    this.#notify();
  }

  /** Who gave it up does not want what came before either. */
  onError(error: UpstreamError): void {
    if (error.kind === 'cancelled' || error.kind === 'timeout') this.#queue = [];
    this.#error = error;
    this.onEnd();
  }

  #takeQueue(): readonly Buffer[] {
    const chunks = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.exchange.resume();
    return chunks;
  }

  /** The next thing that happens. For one waiter at a time. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

const maxQueuedBytes = 64 * 1024;
