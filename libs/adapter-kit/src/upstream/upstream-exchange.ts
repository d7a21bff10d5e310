import type { Dispatcher } from 'undici';
import type { AdapterMetrics } from '../metrics.ts';
import type { ConnectionHandler, ServedConnection } from './connection.ts';
import { decodedFor } from './decoded-body.ts';

export interface UpstreamHead {
  readonly status: number;
  /** Lower-case names; the values of a repeated one joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ExchangeOptions {
  /** How long the answer may take from now on. See `endWithin`. */
  readonly timeoutMs: number;
  /** No exchange lasts longer, whatever goes on in it. */
  readonly maxMs: number;
  /** Aborting it ends the exchange at once, in any state. */
  readonly signal: AbortSignal | undefined;
  /** Called when the head of the answer comes, with how long that took. */
  readonly onHead?: ((afterMs: number) => void) | undefined;
  /** Sends the request once more, on a new connection. */
  readonly sendAgain: (exchange: UpstreamExchange) => void;
  readonly metrics: AdapterMetrics;
}

/**
 * One request to a provider and its answer, which is read by waiting for it. Bytes that are not read yet are kept up to a
 * bound; then the socket is paused, so that a slow reader slows the provider down and memory stays flat.
 *
 * A provider may close a connection that is idle just as a request goes out on it. An exchange on a connection that has
 * served others, which ends before any byte of an answer, is begun anew on another one: once, and its reader does not
 * notice.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1
 *
 * Encoded answers are decoded. Time is limited while the reader waits: the time in which it does not read is its own,
 * not the provider's. A limit that passes, the signal or disposing it closes the connection at once, and every method
 * throws UpstreamError from then on.
 *
 * It is itself what undici calls with the answer: the methods that begin with `on` are for that.
 */
export class UpstreamExchange implements ConnectionHandler, Disposable {
  readonly #metrics: AdapterMetrics;
  readonly #signal: AbortSignal | undefined;
  readonly #onHead: ExchangeOptions['onHead'];
  readonly #startedMs = performance.now();
  /** Beyond this it is not the provider that took so long. */
  #lastsUntilMs: number;
  #deadlineMs: number;
  /** Limits each wait in place of the deadline. */
  #silenceMs: number | undefined;
  /** Until when the reader waits; undefined while it does not. */
  #waitsUntilMs: number | undefined;
  #timer: { readonly firesAtMs: number; readonly timeout: NodeJS.Timeout } | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #connection: ServedConnection | undefined;
  /** Undefined once the request can't be sent again, or was. */
  #sendAgain: ExchangeOptions['sendAgain'] | undefined;
  #hasAnswerBegun = false;
  /** Takes an encoded answer, and hands back the decoded one. */
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

  /** True when the next `read` need not wait. */
  get hasMore(): boolean {
    return this.#chunks.length > 0 || this.#isOver;
  }

  /** Once there is a connection and the request leaves on it. */
  async sent(): Promise<void> {
    while (this.#controller === undefined && !this.#isOver) await this.#change();
    if (this.#controller === undefined) throw this.#failure();
  }

  /** The head of the answer. */
  async head(): Promise<UpstreamHead> {
    while (this.#head === undefined && !this.#isOver) await this.#change();
    if (this.#head === undefined) throw this.#failure();
    return this.#head;
  }

  /** The body's bytes that have come since the last call, waiting for some; undefined at the end. */
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

  /** From now on the answer must end within a time. */
  endWithin(timeoutMs: number): void {
    this.#silenceMs = undefined;
    this.#deadlineMs = performance.now() + timeoutMs;
  }

  /** From now on the reader waits no longer than this for more bytes. */
  limitSilence(timeoutMs: number): void {
    this.#silenceMs = timeoutMs;
  }

  /** Nothing more is wanted. What little still comes is dropped, so that the connection can be used again. */
  release(): void {
    this.#isReleased = true;
    if (this.#isOver) return;
    this.#signal?.removeEventListener('abort', this.#cancel);
    this.#lastsUntilMs = Math.min(this.#lastsUntilMs, performance.now() + leftOverTimeoutMs);
    this.#watchTime();
    this.#controller?.resume();
  }

  /** Closes the connection unless the answer has ended or was released. */
  [Symbol.dispose](): void {
    if (!this.#isReleased) this.#cancel();
  }

  onConnection(connection: ServedConnection): void {
    this.#connection = connection;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // On a new connection the request itself, or what came of it, ended that.
    if (this.#decoder === undefined && (this.#connection?.served ?? 0) === 0) this.#sendAgain = undefined;
    // It was given up while there was no connection.
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
    this.#onHead?.(performance.now() - this.#startedMs);
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
    if (this.#isOver || this.#hasAnswerBegun || sendAgain === undefined || !isConnectionEnd(error)) {
      return this.#close(toUpstreamError(error));
    }
    this.#controller = undefined;
    this.#metrics.requestResent();
    sendAgain(this);
  }

  /** What undici says of an encoded answer goes to its decoder, which has a controller of its own. */
  #isEncoded(controller: Dispatcher.DispatchController): boolean {
    return this.#decoder !== undefined && controller !== this.#controller;
  }

  readonly #cancel = (): void => this.#abort('cancelled', 'The request was given up.');

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
    clearTimeout(this.#timer?.timeout);
    this.#signal?.removeEventListener('abort', this.#cancel);
    this.#metrics.streamClosed();
    this.#wakeReader();
  }

  #failure(): UpstreamError {
    return this.#error ?? new UpstreamError('network', 'The connection ended without an answer.');
  }

  /** Waits for the next thing that comes of the exchange, one reader at a time. */
  #change(): Promise<void> {
    this.#waitsUntilMs = this.#silenceMs === undefined ? this.#deadlineMs : performance.now() + this.#silenceMs;
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

  /** One timer for all limits. It fires when the next of them may have passed, and looks again when it has not. */
  #watchTime(): void {
    const firesAtMs = Math.min(this.#lastsUntilMs, this.#waitsUntilMs ?? Number.POSITIVE_INFINITY);
    if (this.#timer !== undefined && this.#timer.firesAtMs <= firesAtMs) return;
    clearTimeout(this.#timer?.timeout);
    const timeout = setTimeout(() => this.#limitTime(), Math.max(0, firesAtMs - performance.now()));
    this.#timer = { firesAtMs, timeout };
  }

  #limitTime(): void {
    this.#timer = undefined;
    // A timer may fire a moment early.
    const nowMs = performance.now() + 1;
    if (this.#waitsUntilMs !== undefined && this.#waitsUntilMs <= nowMs)
      this.#abort('timeout', 'The provider took too long.');
    else if (this.#lastsUntilMs <= nowMs) this.#abort('cancelled', 'It lasted too long.');
    else this.#watchTime();
  }
}

/** The first `maxBytes` bytes of the body, or fewer when it ends before, or breaks off. Throws when it was given up. */
export function readBody(exchange: UpstreamExchange, maxBytes: number): Promise<Buffer> {
  const endUnlessCancelled = (thrown: UpstreamError) => {
    if (thrown.kind === 'cancelled') throw thrown;
    return undefined;
  };
  return readUpTo(maxBytes, () => exchange.read().catch(endUnlessCancelled));
}

/** The whole body. Throws UpstreamError when it breaks off, and `malformed` when it is larger than `maxBytes`. */
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

/**
 * Why an exchange with a provider broke off. `malformed`: what came is no whole answer. `too_large`: it is larger than the bound on an
 * answer. `cancelled`: our side gave up.
 */
export type UpstreamErrorKind = 'network' | 'timeout' | 'malformed' | 'too_large' | 'cancelled';

/** An exchange that broke off. Its text goes to the log at most. */
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

/** In undici's words and those of the operating system. Of HTTP/2 the provider may have announced it. */
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
