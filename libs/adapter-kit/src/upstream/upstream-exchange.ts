import type { AdapterMetrics } from '../adapter-metrics.ts';
import type { Deadlines, Watched } from './deadlines.ts';
import type { HttpCall, ResponseHeaders, ResponseListener } from './http/http-exchange.ts';
import { UpstreamError, type UpstreamErrorKind } from './upstream-error.ts';

export interface UpstreamHead {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Is told what comes of an exchange, in order, as it comes: from within the reading of the connection. Never throws. */
export interface ExchangeListener {
  /** Once, before anything else. */
  onHead(head: UpstreamHead): void;
  onBytes(bytes: Buffer): void;
  /** The answer is whole. Nothing follows. */
  onEnd(): void;
  /** The exchange broke off. Nothing follows. */
  onError(error: UpstreamError): void;
}

export interface UpstreamExchangeOptions {
  readonly listener: ExchangeListener;
  /** Is told when the request leaves for the provider. */
  readonly onSent: (() => void) | undefined;
  readonly timeoutMs: number;
  /** No exchange lasts longer, whatever goes on in it. */
  readonly maxMs: number;
  readonly signal: AbortSignal | undefined;
  readonly metrics: AdapterMetrics;
  readonly deadlines: Deadlines;
}

/**
 * One request to a provider and its answer, told to a listener. While it is paused the socket is left alone, so that a slow
 * reader slows the provider down and memory stays flat.
 *
 * From the start there is a deadline of `timeoutMs`; whoever listens replaces it as the answer goes on. When it passes,
 * or the signal is aborted, the connection is closed at once and the listener is told an UpstreamError. The time in which it is
 * paused is the reader's, not the provider's: a limit of silence stands still meanwhile. A pause may last until `maxMs` is over.
 *
 * It is itself what its connection tells of the answer: the methods that begin with `on` are for that.
 */
export class UpstreamExchange implements Disposable, Watched, ResponseListener {
  #listener: ExchangeListener;
  /** Stops listening to whoever may abort the exchange. */
  #forgetSignal: (() => void) | undefined;
  readonly #metrics: AdapterMetrics;
  readonly #deadlines: Deadlines;
  readonly #startedMs = performance.now();
  /** From `begin` on. */
  #call: HttpCall | undefined;
  #closed = false;
  #isPaused = false;
  #timeoutMs: number;
  #deadlineMs: number;
  /** True while silence is limited instead of the whole time. */
  #limitsSilence = false;
  #hadBytes = false;
  readonly #onSent: (() => void) | undefined;
  readonly #maxMs: number;
  #checkedMs = this.#startedMs;

  constructor({ listener, onSent, timeoutMs, maxMs, signal, metrics, deadlines }: UpstreamExchangeOptions) {
    this.#listener = listener;
    this.#onSent = onSent;
    this.#maxMs = maxMs;
    this.#metrics = metrics;
    this.#deadlines = deadlines;
    this.#timeoutMs = timeoutMs;
    this.#deadlineMs = this.#startedMs + timeoutMs;
    metrics.streamOpened();
    deadlines.watch(this);
    if (signal !== undefined) this.#endWith(signal);
  }

  /** From now on another one is told. */
  tell(listener: ExchangeListener): this {
    this.#listener = listener;
    return this;
  }

  /** Leaves the socket alone. What one read has brought already may still be told. */
  pause(): void {
    this.#isPaused = true;
    this.#call?.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#call?.resume();
  }

  /** From now on the answer must end within a time. */
  endWithin(timeoutMs: number): void {
    this.#limitsSilence = false;
    this.#setDeadline(timeoutMs);
  }

  /** From now on no more than a time may pass without bytes, while it is not paused. */
  limitSilence(timeoutMs: number): void {
    this.#limitsSilence = true;
    this.#setDeadline(timeoutMs);
  }

  /** Nothing more is wanted. The little that may be left is passed over, so that the connection can be used again. */
  release(): void {
    this.#listener = nobody;
    if (this.#closed) return;
    this.#forgetSignal?.();
    this.endWithin(leftOverTimeoutMs);
    this.resume();
  }

  /** Closes the connection unless the answer has ended or was released. */
  [Symbol.dispose](): void {
    if (this.#listener !== nobody) this.#cancel();
  }

  checkDeadline(nowMs: number): void {
    const sinceCheckMs = nowMs - this.#checkedMs;
    this.#checkedMs = nowMs;
    const hadBytes = this.#hadBytes;
    this.#hadBytes = false;
    // It is not the provider that took so long.
    if (nowMs - this.#startedMs >= this.#maxMs)
      return this.#abort('cancelled', `It lasted longer than ${this.#maxMs} ms.`);
    if (this.#limitsSilence && hadBytes) this.#deadlineMs = nowMs + this.#timeoutMs;
    else if (this.#limitsSilence && this.#isPaused) this.#deadlineMs += sinceCheckMs;
    else if (nowMs >= this.#deadlineMs) this.#abort('timeout', `No answer within ${this.#timeoutMs} ms.`);
  }

  /** Sends the request, unless the exchange has ended already. */
  begin(send: (listener: ResponseListener) => HttpCall): this {
    if (this.#closed) return this;
    try {
      this.#call = send(this);
    } catch (thrown) {
      if (!(thrown instanceof UpstreamError)) throw thrown;
      this.#breakOff(thrown);
    }
    return this;
  }

  onRequestSent(): void {
    this.#onSent?.();
  }

  onResponseHead(status: number, headers: ResponseHeaders): void {
    this.#metrics.answerBegan(performance.now() - this.#startedMs);
    this.#listener.onHead({ status, headers });
  }

  onResponseBytes(bytes: Buffer): void {
    this.#hadBytes = true;
    this.#listener.onBytes(bytes);
  }

  onResponseEnd(): void {
    if (this.#close()) this.#listener.onEnd();
  }

  onResponseError(error: UpstreamError): void {
    this.#breakOff(error);
  }

  #endWith(signal: AbortSignal): void {
    if (signal.aborted) return this.#cancel();
    const cancel = () => this.#cancel();
    signal.addEventListener('abort', cancel, { once: true });
    this.#forgetSignal = () => signal.removeEventListener('abort', cancel);
  }

  #cancel(): void {
    this.#abort('cancelled', 'The request was given up.');
  }

  #abort(kind: UpstreamErrorKind, message: string): void {
    if (this.#closed) return;
    const error = new UpstreamError(kind, message);
    this.#call?.abort();
    this.#breakOff(error);
  }

  #breakOff(error: UpstreamError): void {
    if (this.#close()) this.#listener.onError(error);
  }

  /** False when it was closed before. */
  #close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.#deadlines.forget(this);
    this.#forgetSignal?.();
    this.#metrics.streamClosed();
    return true;
  }

  #setDeadline(timeoutMs: number): void {
    this.#timeoutMs = timeoutMs;
    this.#deadlineMs = performance.now() + timeoutMs;
  }
}

/** For what nobody wants any more. */
const nobody: ExchangeListener = {
  onHead: () => undefined,
  onBytes: () => undefined,
  onEnd: () => undefined,
  onError: () => undefined,
};

const leftOverTimeoutMs = 1_000;
