import type { Socket } from 'node:net';
import { UpstreamError } from '../upstream-error.ts';
import type { Carrier, HttpCall } from './http-exchange.ts';
import { type OriginSessions, openSocket, type SocketEvents } from './open-socket.ts';
import type { Origin } from './origin.ts';
import { ResponseReader } from './response-reader.ts';
import { sendRequest } from './send-request.ts';

export interface ConnectionOptions {
  readonly origin: Origin;
  readonly sessions: OriginSessions;
  /** How long it may take until the connection is usable, TLS included. */
  readonly connectTimeoutMs: number;
  readonly owner: ConnectionOwner;
}

export interface ConnectionOwner {
  /** It has carried a call and may carry another. */
  onConnectionFree(connection: Connection): void;
  /** It carries nothing any more. */
  onConnectionClosed(connection: Connection): void;
}

/** A connection to a provider: carries one call after the other. Made for a first one, which it carries once it is open. */
export class Connection implements Carrier, SocketEvents {
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  readonly #reader = new ResponseReader();
  readonly #connectTimer: NodeJS.Timeout;
  #call: HttpCall | undefined;
  #isOpen = false;
  #isClosed = false;
  /** While pieces of a request are still to be written. */
  #isSending = false;
  #isPaused = false;
  #idleUntilMs = 0;

  constructor(options: ConnectionOptions, call: HttpCall) {
    this.#options = options;
    this.#call = call;
    call.carriedBy(this);
    this.#socket = openSocket(options.origin, options.sessions, this);
    this.#connectTimer = setTimeout(() => this.#onConnectTimeout(), options.connectTimeoutMs);
  }

  /** Until when it may be used again, as `performance.now()`: of one that is free. 0 once it is closed. */
  get idleUntilMs(): number {
    return this.#idleUntilMs;
  }

  /** For one that is free. */
  carry(call: HttpCall): void {
    this.#call = call;
    call.carriedBy(this);
    this.#socket.ref();
    this.#send(call);
  }

  pause(): void {
    // A handshake has to go on.
    if (!this.#isOpen || this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /** At once, whatever it carries: nobody is told. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#idleUntilMs = 0;
    this.#call = undefined;
    this.#reader.stop();
    clearTimeout(this.#connectTimer);
    this.#socket.destroy();
    this.#options.owner.onConnectionClosed(this);
  }

  /** Closes it, and what it carries breaks off. */
  breakOff(error: UpstreamError): void {
    const call = this.#call;
    this.close();
    call?.fail(error);
  }

  onOpen(): void {
    clearTimeout(this.#connectTimer);
    this.#isOpen = true;
    if (this.#call !== undefined) this.#send(this.#call);
  }

  onRead(bytes: Buffer): void {
    // Nobody asked for it: whoever is next must not take it for an answer.
    if (this.#call === undefined) return this.close();
    try {
      if (this.#reader.read(bytes)) this.#onWhole();
    } catch (thrown) {
      this.breakOff(toUpstreamError(thrown));
    }
  }

  onEnd(): void {
    if (this.#call === undefined) return this.close();
    try {
      if (this.#reader.end()) this.#onWhole();
    } catch (thrown) {
      this.breakOff(toUpstreamError(thrown));
    }
  }

  onError(error: Error): void {
    this.breakOff(toUpstreamError(error));
  }

  onClose(): void {
    this.breakOff(new UpstreamError('network', 'The connection to the provider was closed.'));
  }

  #send(call: HttpCall): void {
    this.#reader.begin(call.listener);
    if (call.isPaused) this.pause();
    call.listener.onRequestSent();
    // Who was told of it may have given it up.
    if (this.#isClosed) return;
    const sent = sendRequest(this.#socket, call.request);
    if (sent === undefined) return;
    this.#isSending = true;
    void sent.then(() => {
      this.#isSending = false;
    });
  }

  /** An answer may be whole before its request is: what is left of that is not sent. */
  #onWhole(): void {
    // Who was told of it may have given it up.
    if (this.#isClosed) return;
    const call = this.#call;
    const isSent = !this.#isSending && this.#socket.writableLength === 0;
    const idleMs = this.#reader.keepsOpen && isSent ? idleMsOf(this.#reader.idleMs) : 0;
    if (idleMs > 0) this.#beFree(idleMs);
    else this.close();
    call?.succeed();
  }

  #beFree(idleMs: number): void {
    this.#call = undefined;
    this.#idleUntilMs = performance.now() + idleMs;
    // That the provider ends it must be seen. It does not hold the process.
    this.resume();
    this.#socket.unref();
    this.#options.owner.onConnectionFree(this);
  }

  #onConnectTimeout(): void {
    this.breakOff(new UpstreamError('timeout', 'No connection to the provider in time.'));
  }
}

/** The provider closes a connection without asking: it must not be used shortly before. */
function idleMsOf(told: number | undefined): number {
  return told === undefined ? unusedForMs : Math.min(told - closingMarginMs, mostUnusedForMs);
}

const unusedForMs = 30_000;
const mostUnusedForMs = 600_000;
const closingMarginMs = 2_000;

function toUpstreamError(thrown: unknown): UpstreamError {
  if (thrown instanceof UpstreamError) return thrown;
  return isConnectTimeout(thrown)
    ? new UpstreamError('timeout', 'No connection to the provider in time.', { cause: thrown })
    : new UpstreamError('network', 'The connection to the provider failed.', { cause: thrown });
}

/** Of a name with several addresses each has its own time. */
function isConnectTimeout(thrown: unknown): boolean {
  if (!(thrown instanceof AggregateError)) return false;
  return [thrown, ...thrown.errors].some(
    (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ETIMEDOUT',
  );
}
