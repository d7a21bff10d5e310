import { cancelTimer, monotonicMs, startTimer, type Timer } from '@gateway/time';
import type { Dispatcher } from 'undici';
import type { AdapterMetrics } from '../metrics.ts';
import { decodedFor } from './decoded-body.ts';
import type { ProviderConnection } from './skip-informational.ts';

export interface UpstreamHead {
  readonly status: number;
  /** Lower-case names; repeated values are joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** By how much this machine's clock is ahead of the provider's. Default: 0. See `readSkewMs`. */
  readonly skewMs?: number | undefined;
}

export interface ExchangeOptions {
  /** How long the answer may take from now on. See `endWithin`. */
  readonly timeoutMs: number;
  /** The maximum duration of the exchange, whatever happens in it. */
  readonly maxMs: number;
  /** Aborting it ends the exchange at once, in any state. */
  readonly signal: AbortSignal | undefined;
  /** Called when the head of the answer arrives, with the time that it took. */
  readonly onHead?: ((afterMs: number) => void) | undefined;
  /** Sends the request once more on a new connection. */
  readonly sendAgain: (exchange: UpstreamExchange) => void;
  readonly metrics: AdapterMetrics;
}

/**
 * One request to a provider and its answer, which the reader pulls. Unread bytes are kept up to a
 * bound; then the socket is paused, so that a slow reader slows the provider down and memory stays
 * bounded.
 *
 * A provider may close an idle connection at the moment when a request is sent on it. If a reused
 * connection ends before any byte of an answer, the request is sent again on another one: once, and
 * unnoticed by the reader.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1
 *
 * Encoded answers are decoded. Time is limited only while the reader waits: pauses of the reader
 * are not the provider's delay. When a limit passes, the signal is aborted or the exchange is
 * disposed of, the connection closes at once, and every method throws UpstreamError from then on.
 *
 * undici calls this object with the answer: the methods that start with `on` are for that.
 */
export class UpstreamExchange implements Dispatcher.DispatchHandler, Disposable {
  readonly #metrics: AdapterMetrics;
  readonly #signal: AbortSignal | undefined;
  readonly #onHead: ExchangeOptions['onHead'];
  readonly #startedMs = monotonicMs();
  /** After this time the provider is not the cause of the duration. */
  #lastsUntilMs: number;
  #deadlineMs: number;
  /** Limits each wait instead of the deadline. */
  #silenceMs: number | undefined;
  /** The deadline of the current wait; undefined while the reader does not wait. */
  #waitsUntilMs: number | undefined;
  #timer: { readonly firesAtMs: number; readonly timeout: Timer } | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #connection: ProviderConnection | undefined;
  /** Undefined once the request can't be sent again, or was. */
  #sendAgain: ExchangeOptions['sendAgain'] | undefined;
  #hasAnswerBegun = false;
  /** Receives an encoded answer and returns the decoded one. */
  #decoder: Dispatcher.DispatchHandler | undefined;
  #head: UpstreamHead | undefined;
  #chunks: Buffer[] = [];
  #chunkBytes = 0;
  #isOver = false;
  #error: UpstreamError | undefined;
  #isReleased = false;
  #wake: (() => void) | undefined;

  constructor({ timeoutMs, maxMs, signal, onHead, sendAgain, metrics }: ExchangeOptions) {
    this.#metrics = metrics;
    this.#signal = signal;
    this.#onHead = onHead;
    this.#sendAgain = sendAgain;
    this.#deadlineMs = this.#startedMs + timeoutMs;
    this.#lastsUntilMs = this.#startedMs + maxMs;
    metrics.streamOpened();
    if (signal?.aborted) this.#cancel();
    else signal?.addEventListener('abort', this.#cancel, { once: true });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** True when the next `read` does not have to wait. */
  get hasMore(): boolean {
    return this.#chunks.length > 0 || this.#isOver;
  }

  /** Resolves when there is a connection and the request is sent on it. */
  async sent(): Promise<void> {
    while (this.#controller === undefined && !this.#isOver) await this.#change();
    if (this.#controller === undefined) throw this.#failure();
  }

  /** Resolves with the head of the answer. */
  async head(): Promise<UpstreamHead> {
    while (this.#head === undefined && !this.#isOver) await this.#change();
    if (this.#head === undefined) throw this.#failure();
    return this.#head;
  }

  /** The body's bytes since the last call; waits for some; undefined at the end. */
  async read(): Promise<readonly Buffer[] | undefined> {
    while (!this.hasMore) await this.#change();
    const chunks = this.#chunks;
    if (chunks.length === 0) {
      if (this.#error !== undefined) throw this.#error;
      return undefined;
    }
    this.#chunks = [];
    this.#chunkBytes = 0;
    this.#controller?.resume();
    return chunks;
  }

  /** Limits the time until the end of the answer from now on. */
  endWithin(timeoutMs: number): void {
    this.#silenceMs = undefined;
    this.#deadlineMs = monotonicMs() + timeoutMs;
  }

  /** Limits each wait for more bytes from now on. */
  limitSilence(timeoutMs: number): void {
    this.#silenceMs = timeoutMs;
  }

  /** Drops the few bytes that still arrive, so that the connection can be reused. */
  release(): void {
    this.#isReleased = true;
    if (this.#isOver) return;
    this.#signal?.removeEventListener('abort', this.#cancel);
    this.#lastsUntilMs = Math.min(this.#lastsUntilMs, monotonicMs() + leftOverTimeoutMs);
    this.#watchTime();
    this.#controller?.resume();
  }

  /** Closes the connection unless the answer has ended or was released. */
  [Symbol.dispose](): void {
    if (!this.#isReleased) this.#cancel();
  }

  onConnection(connection: ProviderConnection): void {
    this.#connection = connection;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#decoder === undefined) this.#connection?.onRequest();
    // On a new connection the request itself, or its answer, caused the end.
    if (this.#decoder === undefined && !this.#connection?.served) this.#sendAgain = undefined;
    // The exchange was abandoned before there was a connection.
    if (this.#isOver) controller.abort(this.#failure());
    this.#wakeReader();
  }

  onResponseStarted(): void {
    this.#hasAnswerBegun = true;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHeaders): void {
    if (status < 200) return;
    if (headers['content-encoding'] !== undefined && this.#decoder === undefined) {
      this.#decoder = decodedFor(this);
      this.#decoder.onRequestStart?.(controller, {});
      return this.#decoder.onResponseStart?.(controller, status, headers);
    }
    this.#onHead?.(monotonicMs() - this.#startedMs);
    this.#head = { status, headers: joined(headers) };
    this.#wakeReader();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isEncoded(controller)) return this.#decoder?.onResponseData?.(controller, chunk);
    if (this.#isReleased) return;
    this.#chunks.push(chunk);
    this.#chunkBytes += chunk.length;
    if (this.#chunkBytes >= maxUnreadBytes) controller.pause();
    this.#wakeReader();
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: IncomingHeaders): void {
    if (this.#isEncoded(controller)) return this.#decoder?.onResponseEnd?.(controller, trailers);
    if (this.#connection !== undefined) this.#connection.served += 1;
    this.#close();
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isEncoded(controller)) return this.#decoder?.onResponseError?.(controller, error);
    const sendAgain = this.#sendAgain;
    this.#sendAgain = undefined;
    this.#hasAnswerBegun ||= this.#connection?.hasPart === true;
    if (this.#isOver || this.#hasAnswerBegun || sendAgain === undefined || !isConnectionEnd(error)) {
      return this.#close(toUpstreamError(error));
    }
    this.#controller = undefined;
    this.#metrics.requestResent();
    sendAgain(this);
  }

  /** undici's calls for an encoded answer go to its decoder, which has a controller of its own. */
  #isEncoded(controller: Dispatcher.DispatchController): boolean {
    return this.#decoder !== undefined && controller !== this.#controller;
  }

  readonly #cancel = (): void => this.#abort('cancelled', 'The request was cancelled.');

  #abort(kind: UpstreamErrorKind, message: string): void {
    if (this.#isOver) return;
    this.#chunks = [];
    this.#close(new UpstreamError(kind, message));
    this.#controller?.abort(this.#failure());
  }

  #close(error?: UpstreamError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    cancelTimer(this.#timer?.timeout);
    this.#signal?.removeEventListener('abort', this.#cancel);
    this.#metrics.streamClosed();
    this.#wakeReader();
  }

  #failure(): UpstreamError {
    return this.#error ?? new UpstreamError('network', 'The connection closed before an answer.');
  }

  /** Waits for the next event of the exchange, for one reader at a time. */
  #change(): Promise<void> {
    this.#waitsUntilMs = this.#silenceMs === undefined ? this.#deadlineMs : monotonicMs() + this.#silenceMs;
    this.#watchTime();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #wakeReader(): void {
    this.#waitsUntilMs = undefined;
    this.#wake?.();
    this.#wake = undefined;
  }

  /**
   * One timer for all limits. It fires at the earliest of them, and is set again if that limit has
   * moved.
   */
  #watchTime(): void {
    const firesAtMs = Math.min(this.#lastsUntilMs, this.#waitsUntilMs ?? Number.POSITIVE_INFINITY);
    if (this.#timer !== undefined && this.#timer.firesAtMs <= firesAtMs) return;
    cancelTimer(this.#timer?.timeout);
    const timeout = startTimer(() => this.#limitTime(), Math.max(0, firesAtMs - monotonicMs()));
    this.#timer = { firesAtMs, timeout };
  }

  #limitTime(): void {
    this.#timer = undefined;
    // A timer may fire slightly early.
    const nowMs = monotonicMs() + 1;
    if (this.#waitsUntilMs !== undefined && this.#waitsUntilMs <= nowMs)
      this.#abort('timeout', 'The provider timed out.');
    else if (this.#lastsUntilMs <= nowMs) this.#abort('cancelled', 'The exchange lasted too long.');
    else this.#watchTime();
  }
}

/**
 * The first `maxBytes` bytes of the body, or fewer when it ends or breaks off before. Throws when
 * the exchange was abandoned.
 */
export function readBody(exchange: UpstreamExchange, maxBytes: number): Promise<Buffer> {
  const endUnlessCancelled = (thrown: UpstreamError) => {
    if (thrown.kind === 'cancelled') throw thrown;
    return undefined;
  };
  return readUpTo(maxBytes, () => exchange.read().catch(endUnlessCancelled));
}

/**
 * The whole body. Throws UpstreamError when it breaks off, and `malformed` when it exceeds
 * `maxBytes`.
 */
export async function readWholeBody(exchange: UpstreamExchange, maxBytes: number): Promise<Buffer> {
  const body = await readUpTo(maxBytes + 1, () => exchange.read());
  if (body.length > maxBytes) throw new UpstreamError('malformed', 'The answer is too large.');
  return body;
}

async function readUpTo(maxBytes: number, read: () => ReturnType<UpstreamExchange['read']>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let size = 0; size < maxBytes; ) {
    const more = await read();
    if (more === undefined) break;
    chunks.push(...more);
    size += more.reduce((sum, { length }) => sum + length, 0);
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

/** Why an exchange broke off. `malformed`: its answer is incomplete. `cancelled`: our side left. */
export type UpstreamErrorKind = 'network' | 'timeout' | 'malformed' | 'too_large' | 'cancelled';

/** An exchange that broke off. Its message is only logged. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly kind: UpstreamErrorKind;

  constructor(kind: UpstreamErrorKind, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.kind = kind;
  }
}

type IncomingHeaders = Readonly<Record<string, string | string[] | undefined>>;

const leftOverTimeoutMs = 1_000;
const maxUnreadBytes = 64 * 1024;

function joined(headers: IncomingHeaders): UpstreamHead['headers'] {
  const result: Record<string, string> = {};
  for (const [name, value = ''] of Object.entries(headers)) {
    result[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return result;
}

/**
 * The errors of undici and the operating system. With HTTP/2 the provider may have announced the
 * end.
 */
function isConnectionEnd(error: Error & { readonly code?: string }): boolean {
  return connectionEnds.has(error.code);
}

const connectionEnds: ReadonlySet<string | undefined> = new Set([
  'UND_ERR_SOCKET',
  'UND_ERR_INFO',
  'EPIPE',
  'ECONNRESET',
]);

function toUpstreamError(error: Error & { readonly code?: string }): UpstreamError {
  return error.code === 'UND_ERR_CONNECT_TIMEOUT' || error.code === 'UND_ERR_HEADERS_TIMEOUT'
    ? new UpstreamError('timeout', 'No connection to the provider in time.', { cause: error })
    : new UpstreamError('network', 'The connection to the provider failed.', { cause: error });
}
