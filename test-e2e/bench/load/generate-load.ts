import { setTimeout as sleep } from 'node:timers/promises';
import { ClientConnection, type Exchange, requestBytes } from './client-connection.ts';
import type { LoadOrder, LoadReport, OtherLoad } from './load-order.ts';
import { Tally } from './tally.ts';

/** Executes an order and leaves no connection behind. */
export async function generateLoad(order: LoadOrder): Promise<LoadReport> {
  const load = new Load(order);
  const { openStreams } = order;
  const streams = openStreams && new Load({ ...order, target: openStreams.target });
  try {
    await streams?.open(openStreams?.count ?? 0);
    return order.beside === undefined ? await load.run() : await runBeside(order.beside, order, load);
  } finally {
    load.stop();
    streams?.stop();
  }
}

async function runBeside(beside: OtherLoad, order: LoadOrder, load: Load): Promise<LoadReport> {
  const others = new Load({ ...order, target: beside.target });
  try {
    others.begin(beside.connections, beside.pauseMs, beside.areTogether ? 0 : beside.pauseMs / beside.connections);
    const report = await load.run();
    return withFailuresOf(others.report(), report);
  } finally {
    others.stop();
  }
}

/** A report that also contains failures of the load beside it. */
function withFailuresOf(other: LoadReport, report: LoadReport): LoadReport {
  const firstFailure = report.firstFailure ?? (other.firstFailure && `of what was sent beside: ${other.firstFailure}`);
  return { ...report, failed: report.failed + other.failed, firstFailure };
}

/** More simultaneous connections mean that the system does not keep up: further requests fail. */
const mostConnections = 2_000;
const openedAtOnce = 50;

class Load {
  readonly #order: LoadOrder;
  readonly #tally: Tally;
  readonly #requests: readonly Buffer[];
  readonly #connections = new Set<ClientConnection>();
  readonly #idle: ClientConnection[] = [];
  #sent = 0;
  #isStopped = false;

  constructor(order: LoadOrder) {
    this.#order = order;
    this.#tally = new Tally(order.watched);
    const { path, headers, body } = order.target;
    this.#requests = headers.map((each) => requestBytes(path, each, body));
  }

  async run(): Promise<LoadReport> {
    const { shape } = this.#order;
    switch (shape.kind) {
      case 'closed':
        this.begin(shape.connections);
        return await this.#measure();
      case 'open':
        return await this.#atRate(shape.perSecond);
      default:
        return await this.#hold(shape.streams);
    }
  }

  /**
   * Sends one request after the other on this many connections. Each connection begins `apartMs`
   * after the one before.
   */
  begin(connections: number, pauseMs = 0, apartMs = 0): void {
    for (let index = 0; index < connections; index++) {
      if (apartMs === 0) this.#sendAgain(this.#connect(), pauseMs);
      else setTimeout(() => !this.#isStopped && this.#sendAgain(this.#connect(), pauseMs), index * apartMs);
    }
  }

  /** Opens this many streams; resolves when all have begun. */
  async open(streams: number): Promise<void> {
    for (let opened = 0; opened < streams; opened += openedAtOnce) {
      const count = Math.min(openedAtOnce, streams - opened);
      await Promise.all(Array.from({ length: count }, () => this.#openStream()));
    }
  }

  async #atRate(perSecond: number): Promise<LoadReport> {
    const startedAtMs = performance.now();
    let due = 0;
    const timer = setInterval(() => {
      const dueNow = Math.floor(((performance.now() - startedAtMs) / 1_000) * perSecond);
      for (; due < dueNow; due++) this.#sendOnIdle();
    }, 1);
    try {
      return await this.#measure();
    } finally {
      clearInterval(timer);
    }
  }

  async #hold(streams: number): Promise<LoadReport> {
    await sleep(this.#order.warmUpMs);
    this.#tally.begin();
    await this.open(streams);
    await sleep(this.#order.measureMs);
    return { ...this.#tally.end(), answered: this.#connections.size };
  }

  stop(): void {
    this.#isStopped = true;
    for (const connection of this.#connections) connection.destroy();
  }

  /** The results so far. */
  report(): LoadReport {
    return this.#tally.end();
  }

  async #measure(): Promise<LoadReport> {
    await sleep(this.#order.warmUpMs);
    this.#tally.begin();
    await sleep(this.#order.measureMs);
    return this.#tally.end();
  }

  #sendAgain(connection: ClientConnection, pauseMs: number): void {
    connection.send(this.#nextRequest(), (exchange) => {
      this.#tally.add(exchange);
      if (this.#isStopped) return;
      if (connection.isUsable && pauseMs === 0) return this.#sendAgain(connection, 0);
      if (!connection.isUsable) this.#connections.delete(connection);
      const next = () => (connection.isUsable ? connection : this.#connect());
      // Pauses before the next request to a system that refuses connections.
      setTimeout(() => !this.#isStopped && this.#sendAgain(next(), pauseMs), Math.max(10, pauseMs));
    });
  }

  #sendOnIdle(): void {
    const connection = this.#idle.pop() ?? this.#connect();
    if (this.#connections.size > mostConnections) {
      this.#connections.delete(connection);
      connection.destroy();
      this.#tally.add(failed(`more than ${mostConnections} requests at once: it does not keep up`));
      return;
    }
    connection.send(this.#nextRequest(), (exchange) => {
      this.#tally.add(exchange);
      if (connection.isUsable) this.#idle.push(connection);
      else this.#connections.delete(connection);
    });
  }

  /** Resolves when the stream has begun, or failed. */
  #openStream(): Promise<void> {
    return new Promise((resolve) => {
      const connection = this.#connect();
      const onEnd = (exchange: Exchange) => {
        this.#connections.delete(connection);
        this.#tally.add({ ...exchange, failure: exchange.failure ?? 'the stream ended' });
        resolve();
      };
      connection.send(this.#nextRequest(), onEnd, resolve);
    });
  }

  #connect(): ClientConnection {
    const connection = new ClientConnection(this.#order.target.port, this.#order.target.accepted);
    this.#connections.add(connection);
    return connection;
  }

  #nextRequest(): Buffer {
    const request = this.#requests[this.#sent++ % this.#requests.length];
    if (request === undefined) throw new Error('The target has no headers to send.');
    return request;
  }
}

function failed(failure: string): Exchange {
  return { failure, latencyMs: 0, firstByteMs: 0, bodyBytes: 0 };
}
