import { UpstreamError } from '../upstream-error.ts';
import { ConnectionPool } from './connection-pool.ts';
import type { HttpCall, HttpRequest, ResponseListener } from './http-exchange.ts';
import { parseOrigin } from './origin.ts';

/**
 * HTTP/1.1 as calls of providers need it: requests of known length, responses told in the turn in which they come, one
 * request at a time on each of as many connections as it takes. A request is sent once at most, whatever becomes of it.
 */
export class HttpClient implements Disposable {
  readonly #connectTimeoutMs: number;
  readonly #pools = new Map<string, ConnectionPool>();
  #isClosed = false;

  constructor(connectTimeoutMs: number) {
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  /** Throws UpstreamError, and tells the listener nothing, when the request can't be sent. */
  send(origin: string, request: HttpRequest, listener: ResponseListener): HttpCall {
    return this.#poolOf(origin).send(request, listener);
  }

  /** Closes all connections; what they carry breaks off. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const pool of this.#pools.values()) pool.close();
    this.#pools.clear();
  }

  /** Origins are those of the configured pools: few. */
  #poolOf(origin: string): ConnectionPool {
    if (this.#isClosed) throw new UpstreamError('network', 'Connections to providers are closed.');
    const known = this.#pools.get(origin);
    if (known !== undefined) return known;
    const pool = new ConnectionPool(parseOrigin(origin), this.#connectTimeoutMs);
    this.#pools.set(origin, pool);
    return pool;
  }
}
