import { once } from 'node:events';
import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { sharedPortOptions } from '@gateway/lifecycle/run-worker';
import { breakUpload, deferUpload } from '../body/read-body.ts';
import type { EdgeRouterConfig } from '../config.ts';
import { HttpFault, toHttpFault } from '../errors/render-error.ts';
import type { RequestEvents } from '../events.ts';
import { isHost, readTarget } from './request-target.ts';
import { assignRequestId, sendError } from './respond.ts';
import { cutStalledClients } from './stalled-clients.ts';

type HttpServerEvents = Pick<RequestEvents, 'clientStalled' | 'refused'>;
type HttpServerConfig = Pick<EdgeRouterConfig, 'host' | 'port' | 'headersTimeoutMs' | 'bodyTimeoutMs' | 'writeStallMs'>;

/**
 * The public HTTP listener: timeouts that Node leaves loose, rules of HTTP that Node does not
 * check, JSON for requests that are none, and a drain that cuts nothing.
 */
export class HttpServer {
  readonly #server: Server;
  readonly #config: HttpServerConfig;
  readonly #events: HttpServerEvents;
  /**
   * The answer to the latest request of each connection. Pipelined requests are under way together.
   */
  readonly #latest = new WeakMap<Duplex, ServerResponse>();
  /** Answers that are under way. */
  readonly #running = new Set<ServerResponse>();
  #draining = false;

  constructor(listener: RequestListener, config: HttpServerConfig, events: HttpServerEvents) {
    this.#config = config;
    this.#events = events;
    const headersTimeout = Math.min(config.headersTimeoutMs, config.bodyTimeoutMs);
    this.#server = createServer({
      headersTimeout,
      requestTimeout: config.bodyTimeoutMs,
      // Node looks at its timeouts only so often; its own half a minute would make them
      // meaningless.
      connectionsCheckingInterval: Math.min(1_000, headersTimeout / 2),
      // Longer than the idle time of common load balancers, so that it is they who close.
      keepAliveTimeout: 75_000,
      maxHeaderSize: 32 * 1024,
      // A missing host is refused in our own words.
      requireHostHeader: false,
    });
    const refuseExpectation: RequestListener = (_request, response) =>
      this.#refuse(response, new HttpFault(417, 'The only expectation that is met is 100-continue.'));
    const awaitInvitation: RequestListener = (request, response) => {
      deferUpload(request, response);
      listener(request, response);
    };
    this.#server
      .on('request', (request, response) => this.#onRequest(request, response, listener))
      .on('checkContinue', (request, response) => this.#onRequest(request, response, awaitInvitation))
      .on('checkExpectation', (request, response) => this.#onRequest(request, response, refuseExpectation))
      .on('connect', (_request, connection) => this.#onConnect(connection))
      .on('clientError', (fault, connection) => this.#onClientError(fault, connection));
    cutStalledClients(this.#server, config.writeStallMs, events.clientStalled);
  }

  /** Resolves with the port it listens on; rejects when the port is taken. */
  async listen(): Promise<number> {
    const { host, port } = this.#config;
    this.#server.listen({ host, port, ...sharedPortOptions() });
    await once(this.#server, 'listening');
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
  }

  /**
   * Answers that begin from now on are the last ones of their connections, so that clients open the
   * next ones elsewhere.
   */
  announceDrain(): void {
    this.#draining = true;
    for (const response of this.#running) {
      const isLast = this.#latest.get(response.req.socket) === response;
      if (isLast && !response.headersSent) response.shouldKeepAlive = false;
    }
    // A connection whose answer has begun may be used once more: a client must not meet its end on
    // the way.
    this.#server.keepAliveTimeout = lingerMs;
  }

  /**
   * Takes no new connections, lets running requests end, and cuts what is left after `timeoutMs`.
   */
  async drain(timeoutMs: number): Promise<void> {
    if (!this.#server.listening) return;
    this.announceDrain();
    // Closes those that are idle.
    const closed = once(this.#server.close(), 'close');
    const cut = setTimeout(() => this.#server.closeAllConnections(), timeoutMs);
    await closed;
    clearTimeout(cut);
  }

  #onRequest(request: IncomingMessage, response: ServerResponse, handle: RequestListener): void {
    const earlier = this.#latest.get(request.socket);
    // The connection ends with an earlier answer: what comes after it must not be acted on.
    if (earlier !== undefined && !earlier.shouldKeepAlive) return;
    this.#latest.set(request.socket, response);
    this.#running.add(response);
    response.once('close', () => this.#running.delete(response));
    assignRequestId(response);
    // Node drops what comes in one packet with a request to upgrade, also when nothing is upgraded.
    if (this.#draining || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    const target = readTarget(request.url ?? '');
    const fault = target === undefined ? 'The request target must be a path or a URL.' : syntaxFault(request);
    if (fault !== undefined) return this.#refuse(response, new HttpFault(400, fault));
    if (target?.authority !== undefined) {
      request.url = target.path;
      request.headers.host = target.authority;
    }
    handle(request, response);
  }

  /** No tunnels here. */
  #onConnect(connection: Duplex): void {
    connection.on('error', () => connection.destroy());
    this.#answerLast(connection, new HttpFault(405, 'There are no tunnels here.', { allow: 'GET, HEAD, POST' }));
  }

  /** What came is no HTTP, not in time, or broken off: nothing after it can be understood. */
  #onClientError(error: NodeJS.ErrnoException, connection: Duplex): void {
    const fault = toHttpFault(error.code);
    const latest = this.#latest.get(connection);
    // A connection on which nothing was ever sent is owed no answer.
    const saidNothing = connection instanceof Socket && connection.bytesRead === 0;
    if (error.code === 'ECONNRESET' || saidNothing) connection.destroy();
    else if (latest === undefined || latest.req.complete) this.#answerLast(connection, fault);
    else if (latest.writableFinished) connection.destroy();
    else {
      // It belongs to the body of a request: who reads that answers.
      if (!latest.headersSent) latest.shouldKeepAlive = false;
      breakUpload(latest.req, fault);
    }
  }

  /**
   * The connection's last answer, to no request that is known, when all requests before it have
   * been answered.
   */
  #answerLast(connection: Duplex, fault: HttpFault): void {
    const latest = this.#latest.get(connection);
    if (latest === undefined || latest.writableFinished) this.#endWithAnswer(connection, fault);
    else latest.once('finish', () => this.#endWithAnswer(connection, fault));
  }

  /**
   * An answer where Node has no request to answer. Does nothing when the connection is closing
   * already.
   */
  #endWithAnswer(connection: Duplex, fault: HttpFault): void {
    if (!connection.writable || !(connection instanceof Socket)) return;
    const response = new ServerResponse(new IncomingMessage(connection));
    assignRequestId(response);
    response.assignSocket(connection);
    this.#refuse(response, fault);
    connection.end();
    const timer = setTimeout(() => connection.destroy(), lingerMs);
    connection.once('close', () => clearTimeout(timer));
  }

  /** In the chat shape: no endpoint is known. */
  #refuse(response: ServerResponse, error: HttpFault): void {
    response.shouldKeepAlive = false;
    this.#events.refused(error);
    sendError(response, error, 'chat');
  }
}

/**
 * How long a client may take to close its side after the last answer, and a stopping edge waits for
 * a next request.
 */
const lingerMs = 1_000;

/**
 * What two parsers could read in two ways, and Node lets pass. Undefined when there is nothing of
 * that kind.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-3.2 and section 6.1 there
 */
function syntaxFault({ headers, headersDistinct, httpVersion }: IncomingMessage): string | undefined {
  const isOld = httpVersion === '1.0';
  const [host, anotherHost] = headersDistinct.host ?? [];
  const coding = headers['transfer-encoding']?.toLowerCase();
  if (httpVersion !== '1.1' && !isOld) return 'Only HTTP/1.1 is spoken here.';
  if (anotherHost !== undefined) return 'The header host is given more than once.';
  if (host === undefined && !isOld) return 'The header host is missing.';
  if (host !== undefined && !isHost(host)) return 'The header host is no host.';
  // Other codings than `chunked` would be taken for the body itself; HTTP/1.0 has none.
  if (coding !== undefined && (isOld || coding !== 'chunked')) return 'The only transfer-encoding is chunked.';
  return undefined;
}
