import type { Dispatcher } from 'undici';
import type { AdapterMetrics } from '../adapter-metrics.ts';
import type { Deadlines, Watched } from './deadlines.ts';
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
  readonly deadlines: Deadlines;
}

/**
 * One request to a provider and its answer. Bytes that are not taken yet are queued up to a bound; then the socket is
 * left alone, so that a slow reader slows the provider down and memory stays flat.
 *
 * From the start there is a deadline of `timeoutMs`; whoever reads replaces it as the answer goes on. When it passes,
 * or the signal is aborted, the connection is closed at once and reading fails with UpstreamError.
 *
 * It is itself the handler that its connection tells of the answer: the methods that begin with `on` are for the agent.
 */
export class UpstreamExchange implements Disposable, Watched, Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal;
  readonly #metrics: AdapterMetrics;
  readonly #deadlines: Deadlines;
  readonly #startedMs = performance.now();
  #controller: Dispatcher.DispatchController | undefined;
  #head: UpstreamHead | undefined;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #closed = false;
  #error: UpstreamError | undefined;
  #unwanted = false;
  #timeoutMs: number;
  #deadlineMs: number;
  /** True while silence is limited instead of the whole time. */
  #limitsSilence = false;
  #hadBytes = false;
  #wake: (() => void) | undefined;

  constructor({ timeoutMs, signal, metrics, deadlines }: UpstreamExchangeOptions) {
    this.#signal = signal;
    this.#metrics = metrics;
    this.#deadlines = deadlines;
    this.#timeoutMs = timeoutMs;
    this.#deadlineMs = this.#startedMs + timeoutMs;
    metrics.streamOpened();
    deadlines.watch(this);
    if (signal.aborted) this.#cancel();
    else signal.addEventListener('abort', this.#cancel, { once: true });
  }

  /** The head of the answer. Throws UpstreamError. */
  async head(): Promise<UpstreamHead> {
    while (this.#head === undefined) {
      if (this.#closed) throw this.#error ?? new UpstreamError('network', 'The connection ended without an answer.');
      await this.change();
    }
    return this.#head;
  }

  /** True while bytes wait to be taken. */
  get hasBytes(): boolean {
    return this.#queue.length > 0;
  }

  /** The body's bytes that have come since the last call; none while there are none, undefined at the end. Throws UpstreamError. */
  take(): readonly Buffer[] | undefined {
    if (this.#queue.length > 0) return this.#takeQueue();
    if (this.#error !== undefined) throw this.#error;
    return this.#closed ? undefined : none;
  }

  /** As `take`, waiting for some. */
  async read(): Promise<readonly Buffer[] | undefined> {
    let bytes = this.take();
    while (bytes === none) {
      await this.change();
      bytes = this.take();
    }
    return bytes;
  }

  /** Resolves with the next thing that happens. For one waiter at a time. */
  change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** From now on the answer must end within a time. */
  endWithin(timeoutMs: number): void {
    this.#limitsSilence = false;
    this.#setDeadline(timeoutMs);
  }

  /** From now on no more than a time may pass without bytes, while there is room for them. */
  limitSilence(timeoutMs: number): void {
    this.#limitsSilence = true;
    this.#setDeadline(timeoutMs);
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

  checkDeadline(nowMs: number): void {
    const mayWait = this.#limitsSilence && (this.#hadBytes || this.#controller?.paused);
    this.#hadBytes = false;
    if (mayWait) this.#deadlineMs = nowMs + this.#timeoutMs;
    else if (nowMs >= this.#deadlineMs) this.#abort('timeout', `No answer within ${this.#timeoutMs} ms.`);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Aborted while the connection was being made.
    if (this.#error !== undefined) controller.abort(this.#error);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: UndiciHeaders): void {
    if (status < 200 || this.#closed) return;
    this.#head = { status, headers: toSingleValues(headers) };
    this.#metrics.answerBegan(performance.now() - this.#startedMs);
    this.#notify();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#unwanted || this.#closed) return;
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    this.#hadBytes = true;
    if (this.#queuedBytes >= maxQueuedBytes) controller.pause();
    this.#notify();
  }

  onResponseEnd(): void {
    this.#close();
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    this.#close(toUpstreamError(cause));
  }

  readonly #cancel = (): void => this.#abort('cancelled', 'The request was given up.');

  #abort(kind: UpstreamErrorKind, message: string): void {
    if (this.#closed) return;
    const error = new UpstreamError(kind, message);
    this.#queue = [];
    this.#close(error);
    this.#controller?.abort(error);
  }

  #takeQueue(): readonly Buffer[] {
    const chunks = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    if (this.#controller?.paused) {
      this.#hadBytes = true;
      this.#controller.resume();
    }
    return chunks;
  }

  #close(error?: UpstreamError): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#error = error;
    this.#deadlines.forget(this);
    if (!this.#unwanted) this.#signal.removeEventListener('abort', this.#cancel);
    this.#metrics.streamClosed();
    this.#notify();
  }

  #setDeadline(timeoutMs: number): void {
    this.#timeoutMs = timeoutMs;
    this.#deadlineMs = performance.now() + timeoutMs;
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

const none: readonly Buffer[] = [];
const maxQueuedBytes = 64 * 1024;
const leftOverTimeoutMs = 1_000;

type UndiciHeaders = NodeJS.Dict<string | string[]>;

/** Names come in lower case. */
function toSingleValues(headers: UndiciHeaders): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) values[name] = typeof value === 'string' ? value : value.join(', ');
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
