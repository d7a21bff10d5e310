import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The requests that connections are busy with. Pipelined ones are under way together; their answers go out in order. */
export class Exchanges {
  readonly #latest = new WeakMap<Duplex, Exchange>();

  /** False when the connection ends with an earlier answer: whatever comes after it must not be acted on. */
  begin(exchange: Exchange): boolean {
    const earlier = this.#latest.get(exchange.request.socket);
    if (earlier !== undefined && !earlier.response.shouldKeepAlive) return false;
    this.#latest.set(exchange.request.socket, exchange);
    return true;
  }

  /** The request that came last, whether answered or not. */
  latest(connection: Duplex): Exchange | undefined {
    return this.#latest.get(connection);
  }

  /** Acts when every request of the connection has been answered and it is still open. */
  whenAnswered(connection: Duplex, act: () => void): void {
    const latest = this.#latest.get(connection);
    if (latest === undefined || latest.response.writableFinished) act();
    else latest.response.once('finish', act);
  }
}
