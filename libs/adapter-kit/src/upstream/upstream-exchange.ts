import type { Dispatcher } from 'undici';
import type { AdapterMetrics } from '../adapter-metrics.ts';
import { UpstreamError, type UpstreamErrorKind } from './upstream-error.ts';

export interface UpstreamHead {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface UpstreamExchangeOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly metrics: AdapterMetrics;
}

/**
 * One request to a provider and its answer. Reads that are not taken yet are queued up to a bound; then the socket is
 * left alone, so that a slow reader slows the provider down and memory stays flat.
 *
 * From the start there is a deadline of `timeoutMs`; whoever reads replaces it as the answer goes on. When it passes,
 * or the signal is aborted, the connection is closed at once and reading fails with UpstreamError.
 */
export class UpstreamExchange implements Disposable {
  /** What the connection tells of. Only for the agent that dispatches the request. */
  readonly handler: Dispatcher.DispatchHandler = {
    onRequestStart: (controller) => this.#onStart(controller),
    onResponseStart: (_controller, status, headers) => this.#onHead(status, headers),
    onResponseData: (_controller, chunk) => this.#onData(chunk),
    onResponseEnd: () => this.#close(),
    onResponseError: (_controller, cause) => this.#close(toUpstreamError(cause)),
  };

  readonly #signal: AbortSignal;
  readonly #metrics: AdapterMetrics;
  readonly #startedMs = performance.now();
  #controller: Dispatcher.DispatchController | undefined;
  #head: UpstreamHead | undefined;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #closed = false;
  #error: UpstreamError | undefined;
  #unwanted = false;
  #timer: NodeJS.Timeout | undefined;
  /** Set while the timer watches for silence instead of for a deadline. */
  #idleTimeoutMs: number | undefined;
  #wake: (() => void) | undefined;

  constructor({ timeoutMs, signal, metrics }: UpstreamExchangeOptions) {
    this.#signal = signal;
    this.#metrics = metrics;
    metrics.streamOpened();
    this.#setTimer(timeoutMs);
    if (signal.aborted) this.#cancel();
    else signal.addEventListener('abort', this.#cancel, { once: true });
  }

  /** The head of the answer. Throws UpstreamError. */
  async head(): Promise<UpstreamHead> {
    while (this.#head === undefined) {
      if (this.#closed) throw this.#error ?? new UpstreamError('network', 'The connection ended without an answer.');
      await this.#change();
    }
    return this.#head;
  }

  /** The body's bytes that have come since the last call, waiting for some. Undefined at the end. Throws UpstreamError. */
  async read(): Promise<readonly Uint8Array[] | undefined> {
    while (this.#queue.length === 0) {
      if (this.#error !== undefined) throw this.#error;
      if (this.#closed) return undefined;
      await this.#change();
    }
    return this.#takeQueue();
  }

  /** From now on the answer must end within a time. */
  endWithin(timeoutMs: number): void {
    this.#idleTimeoutMs = undefined;
    this.#setTimer(timeoutMs);
  }

  /** From now on no more than a time may pass without bytes, while there is room for them. */
  limitSilence(timeoutMs: number): void {
    this.#idleTimeoutMs = timeoutMs;
    this.#setTimer(timeoutMs);
  }

  /** Nothing more is wanted. The little that may be left is passed over, so that the connection can be used again. */
  release(): void {
    if (this.#closed) return;
    this.#unwanted = true;
    this.#signal.removeEventListener('abort', this.#cancel);
    this.endWithin(leftOverTimeoutMs);
    this.#takeQueue();
  }

  /** Closes the connection unless the answer has ended or was released. */
  [Symbol.dispose](): void {
    if (!this.#unwanted) this.#cancel();
  }

  readonly #cancel = (): void => this.#abort('cancelled', 'The request was given up.');

  #abort(kind: UpstreamErrorKind, message: string): void {
    if (this.#closed) return;
    const error = new UpstreamError(kind, message);
    this.#queue = [];
    this.#close(error);
    this.#controller?.abort(error);
  }

  #onStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Aborted while the connection was being made.
    if (this.#error !== undefined) controller.abort(this.#error);
  }

  #onHead(status: number, headers: NodeJS.Dict<string | string[]>): void {
    if (status < 200 || this.#closed) return;
    this.#head = { status, headers: toSingleValues(headers) };
    this.#metrics.answerBegan(performance.now() - this.#startedMs);
    this.#wake?.();
  }

  #onData(chunk: Buffer): void {
    if (this.#unwanted || this.#closed) return;
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    if (this.#queuedBytes >= maxQueuedBytes) this.#pause();
    else if (this.#idleTimeoutMs !== undefined) this.#timer?.refresh();
    this.#wake?.();
  }

  #pause(): void {
    this.#controller?.pause();
    if (this.#idleTimeoutMs !== undefined) clearTimeout(this.#timer);
  }

  #takeQueue(): readonly Uint8Array[] {
    const chunks = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    if (this.#controller?.paused) {
      if (this.#idleTimeoutMs !== undefined) this.#setTimer(this.#idleTimeoutMs);
      this.#controller.resume();
    }
    return chunks;
  }

  #close(error?: UpstreamError): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#error = error;
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#cancel);
    this.#metrics.streamClosed();
    this.#wake?.();
  }

  #setTimer(timeoutMs: number): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(() => this.#abort('timeout', `No answer within ${timeoutMs} ms.`), timeoutMs);
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }
}

const maxQueuedBytes = 64 * 1024;
const leftOverTimeoutMs = 1_000;

function toSingleValues(headers: NodeJS.Dict<string | string[]>): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) values[name.toLowerCase()] = typeof value === 'string' ? value : value.join(', ');
  }
  return values;
}

function toUpstreamError(cause: unknown): UpstreamError {
  if (cause instanceof UpstreamError) return cause;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return code === 'UND_ERR_CONNECT_TIMEOUT'
    ? new UpstreamError('timeout', 'No connection to the provider in time.', { cause })
    : new UpstreamError('network', 'The connection to the provider failed.', { cause });
}
