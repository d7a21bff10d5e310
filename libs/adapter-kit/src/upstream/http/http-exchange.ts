import type { UpstreamError } from '../upstream-error.ts';

export type RequestHeaders = Readonly<Record<string, string>>;

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** Begins with a slash. */
  readonly path: string;
  /** Those of the message itself (host, length, connection) are not among them. What is frozen is written out only once. */
  readonly headers: RequestHeaders;
  /** Pieces are written in turns, as fast as the connection takes them; anything else at once. */
  readonly body: RequestBody;
}

export type RequestBody = Uint8Array | string | readonly Uint8Array[];

/** Names in lower case; the values of a repeated one joined with commas. */
export type ResponseHeaders = Readonly<Record<string, string>>;

/** Is told what comes of a request, in order, from within the reading of the connection. Should not throw. */
export interface ResponseListener {
  /** There is a connection, and the request leaves. */
  onRequestSent(): void;
  /** Once, before anything else of the response. */
  onResponseHead(status: number, headers: ResponseHeaders): void;
  /** What one read has brought of the body. The bytes belong to the listener. */
  onResponseBytes(bytes: Buffer): void;
  /** The response is whole. Nothing follows. */
  onResponseEnd(): void;
  /** It broke off. Nothing follows. */
  onResponseError(error: UpstreamError): void;
}

/** A request as it is written. */
export interface WrittenRequest {
  /** In Latin-1, with the empty line at its end. */
  readonly head: string;
  readonly body: RequestBody;
  readonly bodyBytes: number;
}

/** What carries a call. */
export interface Carrier {
  pause(): void;
  resume(): void;
  close(): void;
}

/** A request that was sent, or waits for a connection, up to the end of its response. After that its methods do nothing. */
export class HttpCall {
  readonly request: WrittenRequest;
  readonly listener: ResponseListener;
  #carrier: Carrier | undefined;
  #isPaused = false;
  #isOver = false;

  constructor(request: WrittenRequest, listener: ResponseListener) {
    this.request = request;
    this.listener = listener;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Leaves the connection alone. What one read has brought already may still be told. */
  pause(): void {
    this.#isPaused = true;
    this.#carrier?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#carrier?.resume();
  }

  /** Closes the connection at once. Nothing is told any more. */
  abort(): void {
    this.#end()?.close();
  }

  /** For who carries it. */
  carriedBy(carrier: Carrier): void {
    this.#carrier = carrier;
  }

  /** For who carried it. */
  succeed(): void {
    if (this.#isOver) return;
    this.#end();
    this.listener.onResponseEnd();
  }

  /** For who carried it, or could not. */
  fail(error: UpstreamError): void {
    if (this.#isOver) return;
    this.#end();
    this.listener.onResponseError(error);
  }

  /** From here on its connection may serve another one. */
  #end(): Carrier | undefined {
    const carrier = this.#carrier;
    this.#isOver = true;
    this.#carrier = undefined;
    return carrier;
  }
}
