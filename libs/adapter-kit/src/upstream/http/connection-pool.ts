import { UpstreamError } from '../upstream-error.ts';
import { Connection, type ConnectionOwner } from './connection.ts';
import { HttpCall, type HttpRequest, type ResponseListener } from './http-exchange.ts';
import type { OriginSessions } from './open-socket.ts';
import type { Origin } from './origin.ts';
import { RequestHeads } from './request-head.ts';

/**
 * The connections to one origin: as many as there are calls at a time, each used again for the next call, the last used one
 * first.
 *
 * A connection is used again only after the event loop has once more asked all sockets what has come since its answer ended,
 * and in the same turn in which it did. So what a provider sent without being asked, or that it has left, has been read by
 * then: the one is never taken for an answer, into the other no request is written.
 */
export class ConnectionPool implements ConnectionOwner {
  readonly #origin: Origin;
  readonly #connectTimeoutMs: number;
  readonly #sessions: OriginSessions = { session: undefined };
  readonly #heads: RequestHeads;
  readonly #connections = new Set<Connection>();
  /** May be used, the next one last. */
  #idle: Connection[] = [];
  /** Became free in this turn of the event loop. */
  #resting: Connection[] = [];
  /** Calls that one of these is going to carry. */
  #waiting: HttpCall[] = [];
  #isTurnAwaited = false;
  #sweep: NodeJS.Timeout | undefined;

  constructor(origin: Origin, connectTimeoutMs: number) {
    this.#origin = origin;
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#heads = new RequestHeads(origin.host);
  }

  /** Throws UpstreamError for a request that can't be sent. */
  send(request: HttpRequest, listener: ResponseListener): HttpCall {
    const call = new HttpCall(this.#heads.write(request), listener);
    if (this.#waiting.length >= this.#idle.length + this.#resting.length) {
      this.#connect(call);
    } else {
      this.#waiting.push(call);
      this.#awaitTurn();
    }
    return call;
  }

  onConnectionFree(connection: Connection): void {
    this.#resting.push(connection);
    this.#awaitTurn();
  }

  onConnectionClosed(connection: Connection): void {
    this.#connections.delete(connection);
    remove(this.#idle, connection);
    remove(this.#resting, connection);
  }

  /** Closes all. */
  close(): void {
    const error = new UpstreamError('network', 'Connections to providers are closed.');
    for (const connection of [...this.#connections]) connection.breakOff(error);
    for (const call of this.#waiting.splice(0)) call.fail(error);
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }

  #connect(call: HttpCall): void {
    const options = { origin: this.#origin, sessions: this.#sessions, connectTimeoutMs: this.#connectTimeoutMs };
    this.#connections.add(new Connection({ ...options, owner: this }, call));
  }

  #awaitTurn(): void {
    if (this.#isTurnAwaited) return;
    this.#isTurnAwaited = true;
    // Comes right after the reading of sockets.
    setImmediate(this.#onTurn);
  }

  readonly #onTurn = (): void => {
    this.#isTurnAwaited = false;
    const waiting = this.#waiting;
    const rested = this.#resting;
    this.#waiting = [];
    this.#resting = [];
    for (const call of waiting) this.#carry(call, rested.length);
    if (rested.length === 0) return;
    this.#idle.push(...rested);
    this.#sweep ??= setInterval(this.#closeUnused, sweepIntervalMs).unref();
    if (this.#waiting.length > 0) this.#awaitTurn();
  };

  #carry(call: HttpCall, rested: number): void {
    if (call.isOver) return;
    const connection = this.#takeIdle();
    if (connection !== undefined) connection.carry(call);
    else if (this.#waiting.length < rested) this.#waiting.push(call);
    else this.#connect(call);
  }

  #takeIdle(): Connection | undefined {
    for (let next = this.#idle.pop(); next !== undefined; next = this.#idle.pop()) {
      if (performance.now() < next.idleUntilMs) return next;
      next.close();
    }
    return undefined;
  }

  readonly #closeUnused = (): void => {
    const nowMs = performance.now();
    for (const connection of [...this.#idle]) if (connection.idleUntilMs <= nowMs) connection.close();
    if (this.#idle.length > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  };
}

const sweepIntervalMs = 1_000;

function remove(connections: Connection[], connection: Connection): void {
  const index = connections.lastIndexOf(connection);
  if (index >= 0) connections.splice(index, 1);
}
