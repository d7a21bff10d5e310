import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { Server as NetServer, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { sharedPortOptions } from '@gateway/lifecycle/run-worker';
import { cancelTimer, monotonicMs, startTimer } from '@gateway/time';
import { EdgeRequest } from '../body/read-body.ts';
import type { EdgeRouterConfig } from '../config.ts';
import { HttpFault, toHttpFault } from '../errors/render-error.ts';
import type { RequestEvents } from '../events.ts';
import { EdgeResponse, sendError } from './respond.ts';
import { cutStalledClients } from './stalled-clients.ts';

/** What answers requests. */
export type EdgeListener = RequestListener<typeof EdgeRequest, typeof EdgeResponse>;

type HttpServerEvents = Pick<RequestEvents, 'clientStalled' | 'refused'>;
type HttpServerConfig = Pick<EdgeRouterConfig, 'host' | 'port' | 'headersTimeoutMs' | 'bodyTimeoutMs' | 'writeStallMs'>;

/**
 * The public HTTP listener: it tightens Node's timeouts, checks rules of HTTP that Node does not,
 * answers invalid requests in JSON, and drains without cutting requests.
 */
export class HttpServer {
  readonly #server: Server<typeof EdgeRequest, typeof EdgeResponse>;
  readonly #config: HttpServerConfig;
  readonly #events: HttpServerEvents;
  /** The latest answer on each connection. Pipelined requests run concurrently. */
  readonly #latest = new WeakMap<Duplex, EdgeResponse>();
  readonly #connections = new Set<Socket>();
  /** What had arrived on a connection when it became idle. */
  readonly #bytesReadWhenIdle = new WeakMap<Duplex, number>();
  /** Connections that were opened or became idle since the drain was announced. */
  readonly #recent = new WeakSet<Duplex>();
  #drainAnnouncedMs: number | undefined;

  constructor(listener: EdgeListener, config: HttpServerConfig, events: HttpServerEvents) {
    this.#config = config;
    this.#events = events;
    const headersTimeout = Math.min(config.headersTimeoutMs, config.bodyTimeoutMs);
    this.#server = createServer({
      IncomingMessage: EdgeRequest,
      ServerResponse: EdgeResponse,
      headersTimeout,
      requestTimeout: config.bodyTimeoutMs,
      // How often Node checks its timeouts; the default of half a minute would make them
      // meaningless.
      connectionsCheckingInterval: Math.min(1_000, headersTimeout / 2),
      // Longer than the idle timeout of common load balancers, so that they close first.
      keepAliveTimeout: 75_000,
      maxHeaderSize: 32 * 1024,
      // A missing host is refused with our own message.
      requireHostHeader: false,
    });
    const refuseExpectation: EdgeListener = (_request, response) =>
      this.#refuse(response, new HttpFault(417, 'The only supported expectation is 100-continue.'));
    const awaitInvitation: EdgeListener = (request, response) => {
      request.deferUpload(response);
      listener(request, response);
    };
    this.#server
      .on('connection', (connection) => this.#onConnection(connection))
      .on('request', (request, response) => this.#onRequest(request, response, listener))
      .on('checkContinue', (request, response) => this.#onRequest(request, response, awaitInvitation))
      .on('checkExpectation', (request, response) => this.#onRequest(request, response, refuseExpectation))
      .on('connect', (_request, connection) => this.#onConnect(connection))
      .on('clientError', (fault, connection) => this.#onClientError(fault, connection));
    cutStalledClients(this.#server, config.writeStallMs, events.clientStalled);
  }

  /** Resolves with the port; rejects when the port is taken. */
  async listen(): Promise<number> {
    const { host, port } = this.#config;
    this.#server.listen({ host, port, ...sharedPortOptions() });
    await once(this.#server, 'listening');
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
  }

  /**
   * Answers that start from now on are the last on their connections, so that clients connect
   * elsewhere.
   */
  announceDrain(): void {
    this.#drainAnnouncedMs ??= monotonicMs();
    for (const connection of this.#connections) {
      const latest = this.#latest.get(connection);
      if (latest?.headersSent === false) latest.shouldKeepAlive = false;
    }
  }

  /**
   * Accepts no new connections, lets running requests end, and closes what is left after
   * `timeoutMs`. Idle connections are closed at once, except those that were used since the drain
   * was announced. These, and those whose answers end later, may be used once more for as long as
   * the announcement lasted: a client must not send its next request into a closing connection.
   */
  async drain(timeoutMs: number): Promise<void> {
    if (!this.#server.listening) return;
    this.announceDrain();
    const announcedForMs = monotonicMs() - (this.#drainAnnouncedMs ?? 0);
    const idleMs = Math.max(lingerMs, announcedForMs);
    this.#server.keepAliveTimeout = idleMs;
    const closed = once(this.#server, 'close');
    // The method of HTTP servers would close every idle connection.
    NetServer.prototype.close.call(this.#server);
    for (const connection of this.#connections) {
      if (!this.#isIdle(connection)) continue;
      if (this.#recent.has(connection)) connection.setTimeout(idleMs);
      else connection.destroy();
    }
    const cut = startTimer(() => this.#server.closeAllConnections(), timeoutMs);
    await closed;
    cancelTimer(cut);
  }

  #onConnection(connection: Socket): void {
    this.#connections.add(connection);
    connection.once('close', () => this.#connections.delete(connection));
    if (this.#drainAnnouncedMs !== undefined) this.#recent.add(connection);
  }

  /** False also while a request is only partly received. */
  #isIdle(connection: Socket): boolean {
    const latest = this.#latest.get(connection);
    if (latest?.closed === false) return false;
    return connection.bytesRead === (this.#bytesReadWhenIdle.get(connection) ?? 0);
  }

  #onIdle({ req: { socket } }: EdgeResponse): void {
    this.#bytesReadWhenIdle.set(socket, socket.bytesRead);
    if (this.#drainAnnouncedMs !== undefined) this.#recent.add(socket);
  }

  #onRequest(request: EdgeRequest, response: EdgeResponse, handle: EdgeListener): void {
    const earlier = this.#latest.get(request.socket);
    // An earlier answer closes the connection: later requests on it must not be processed.
    if (earlier !== undefined && !earlier.shouldKeepAlive) return;
    this.#latest.set(request.socket, response);
    response.once('close', () => this.#onIdle(response));
    // Node drops bytes in the same packet as an upgrade request, even if nothing is upgraded.
    if (this.#drainAnnouncedMs !== undefined || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    // A connection that waited for a last request has one.
    if (this.#recent.has(request.socket)) request.socket.setTimeout(0);
    const target = readTarget(request.url ?? '');
    const fault = target === undefined ? 'The request target must be a path or a URL.' : syntaxFault(request);
    if (fault !== undefined) return this.#refuse(response, new HttpFault(400, fault));
    if (target?.authority !== undefined) {
      request.url = target.path;
      request.headers.host = target.authority;
    }
    handle(request, response);
  }

  /** CONNECT tunnels are not supported. */
  #onConnect(connection: Duplex): void {
    connection.on('error', () => connection.destroy());
    this.#answerLast(connection, new HttpFault(405, 'CONNECT is not supported.', { allow: 'GET, HEAD, POST' }));
  }

  /** The input is not HTTP, arrived too late or broke off: nothing after it can be parsed. */
  #onClientError(error: NodeJS.ErrnoException, connection: Duplex): void {
    const fault = toHttpFault(error.code);
    const latest = this.#latest.get(connection);
    // A connection that never sent anything gets no answer.
    const saidNothing = connection instanceof Socket && connection.bytesRead === 0;
    if (error.code === 'ECONNRESET' || saidNothing) connection.destroy();
    else if (latest === undefined || latest.req.complete) this.#answerLast(connection, fault);
    else if (latest.writableFinished) connection.destroy();
    else {
      // The error is in the body of a request: the body's reader answers.
      if (!latest.headersSent) latest.shouldKeepAlive = false;
      latest.req.breakUpload(fault);
    }
  }

  /**
   * Sends the connection's last answer, which belongs to no known request, after all earlier
   * requests have been answered.
   */
  #answerLast(connection: Duplex, fault: HttpFault): void {
    const latest = this.#latest.get(connection);
    if (latest === undefined || latest.writableFinished) this.#endWithAnswer(connection, fault);
    else latest.once('finish', () => this.#endWithAnswer(connection, fault));
  }

  /**
   * Answers when Node has no request to answer. Does nothing if the connection is already closing.
   */
  #endWithAnswer(connection: Duplex, fault: HttpFault): void {
    if (!connection.writable || !(connection instanceof Socket)) return;
    const response = new EdgeResponse(new EdgeRequest(connection));
    response.assignSocket(connection);
    this.#refuse(response, fault);
    connection.end();
    const timer = startTimer(() => connection.destroy(), lingerMs);
    connection.once('close', () => cancelTimer(timer));
  }

  /** Uses the chat shape, because no endpoint is known. */
  #refuse(response: EdgeResponse, error: HttpFault): void {
    response.shouldKeepAlive = false;
    this.#events.refused(error);
    sendError(response, error, 'chat');
  }
}

/**
 * How long a client may take to close its side after the last answer, and how long a stopping edge
 * waits at least for a next request.
 */
const lingerMs = 1_000;

/**
 * Syntax that two parsers could read differently and that Node accepts. Undefined when there is
 * none.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-3.2 and section 6.1 there
 */
function syntaxFault({ headers, headersDistinct, httpVersion }: IncomingMessage): string | undefined {
  const isOld = httpVersion === '1.0';
  const [host, anotherHost] = headersDistinct.host ?? [];
  const coding = headers['transfer-encoding']?.toLowerCase();
  if (httpVersion !== '1.1' && !isOld) return 'Only HTTP/1.1 is supported.';
  if (anotherHost !== undefined) return 'The host header appears more than once.';
  if (host === undefined && !isOld) return 'The host header is missing.';
  if (host !== undefined && !isHost(host)) return 'The host header is invalid.';
  // Other codings than `chunked` would be read as the body itself; HTTP/1.0 has none.
  if (coding !== undefined && (isOld || coding !== 'chunked'))
    return 'The only supported transfer-encoding is chunked.';
  return undefined;
}

/** The target of a request. */
interface RequestTarget {
  /**
   * Includes the query, exactly as sent: nothing is decoded or resolved. `*` stands for the server
   * as a whole.
   */
  readonly path: string;
  /** The authority of a target that is a whole URL: it replaces the `host` header. */
  readonly authority?: string;
}

/**
 * Reads a request target: a path, a whole URL as clients send it to a proxy, or `*`. A URL refers
 * to this server whatever its authority: nothing is fetched from there. Undefined for targets that
 * no server should accept: other schemes, user names, URLs without a host, fragments.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-3.2 and
 *   https://www.rfc-editor.org/rfc/rfc9110#section-4.2.4
 */
function readTarget(target: string): RequestTarget | undefined {
  if (target.includes('#')) return undefined;
  if (target === '*' || target.startsWith('/')) return { path: target };
  const [, authority = '', rest = ''] = absolutePattern.exec(target) ?? [];
  if (authority === '' || authority.startsWith(':') || !isHost(authority)) return undefined;
  return { path: rest.startsWith('/') ? rest : `/${rest}`, authority };
}

const absolutePattern = /^https?:\/\/([^/?]+)([/?].*)?$/is;

/** Whether a `host` header may have this value. */
function isHost(text: string): boolean {
  return hostPattern.test(text);
}

/** A name, IPv4 or bracketed IPv6 address with an optional port; may be empty. */
const hostPattern = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-fA-Fv:.]+\])(?::\d*)?$/;
