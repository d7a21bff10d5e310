import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { sharedPortOptions } from '@gateway/lifecycle/shared-port';
import { breakUpload, holdBackUpload } from '../body/upload.ts';
import type { EdgeRouterConfig } from '../config.ts';
import { exchanges } from './exchanges.ts';
import { HttpFault, toHttpFault } from './http-fault.ts';
import { sendRawAnswer } from './raw-answer.ts';
import { assignRequestId } from './request-id.ts';
import { syntaxFault } from './request-syntax.ts';
import { sendError } from './send-error.ts';
import { StalledClients } from './stalled-clients.ts';

type HttpServerConfig = Pick<EdgeRouterConfig, 'host' | 'port' | 'headersTimeoutMs' | 'bodyTimeoutMs' | 'writeStallMs'>;

/**
 * The public HTTP listener: timeouts that Node leaves loose, rules of HTTP that Node does not check, JSON for requests that
 * are none, and a drain that cuts nothing.
 */
export class HttpServer {
  readonly #server: Server;
  readonly #config: HttpServerConfig;
  readonly #listener: RequestListener;
  /** Connections on which nothing can be understood any more. */
  readonly #lost = new WeakSet<Duplex>();
  readonly #stalledClients: StalledClients;
  #draining = false;

  /** @param onStalled is told of each client that was cut off because it took nothing. */
  constructor(listener: RequestListener, config: HttpServerConfig, onStalled: () => void = () => undefined) {
    this.#listener = listener;
    this.#config = config;
    this.#stalledClients = new StalledClients({ stallMs: config.writeStallMs, onStalled });
    const headersTimeout = Math.min(config.headersTimeoutMs, config.bodyTimeoutMs);
    this.#server = createServer({
      headersTimeout,
      requestTimeout: config.bodyTimeoutMs,
      // Node looks at its timeouts only so often; its own half a minute would make them meaningless.
      connectionsCheckingInterval: Math.min(1_000, headersTimeout / 2),
      // Longer than the idle time of common load balancers, so that it is they who close.
      keepAliveTimeout: 75_000,
      maxHeaderSize: 32 * 1024,
      // A missing host is refused in our own words.
      requireHostHeader: false,
    });
    this.#server
      .on('connection', (connection) => this.#stalledClients.watch(connection))
      .on('request', (request, response) => this.#onRequest(request, response))
      .on('checkContinue', (request, response) => this.#onRequest(request, response, holdBackUpload))
      .on('checkExpectation', (request, response) => this.#onRequest(request, response, refuseExpectation))
      .on('connect', (_request, connection) => this.#onConnect(connection))
      .on('clientError', (fault, connection) => this.#onClientError(fault, connection));
  }

  /** Resolves with the port it listens on; rejects when the port is taken. */
  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server
        .once('error', reject)
        .listen({ port: this.#config.port, host: this.#config.host, ...sharedPortOptions() }, () => {
          this.#server.off('error', reject);
          const address = this.#server.address();
          resolve(typeof address === 'object' && address !== null ? address.port : this.#config.port);
        });
    });
  }

  /** Takes no new connections, lets running requests end, and cuts what is left after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    if (!this.#server.listening) return;
    this.#draining = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // Idle keep-alive connections would otherwise hold up the end; ones that finish later become idle later.
    const closeIdle = setInterval(() => this.#server.closeIdleConnections(), 100);
    const cut = setTimeout(() => this.#server.closeAllConnections(), timeoutMs);
    await closed;
    clearInterval(closeIdle);
    clearTimeout(cut);
  }

  #onRequest(
    request: IncomingMessage,
    response: ServerResponse,
    before?: (request: IncomingMessage, response: ServerResponse) => void,
  ): void {
    if (!exchanges.begin(request.socket, response)) return;
    assignRequestId(response);
    // Node drops what comes in one packet with a request to upgrade, also when nothing is upgraded.
    if (this.#draining || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    const fault = syntaxFault(request);
    if (fault !== undefined) {
      response.shouldKeepAlive = false;
      sendError(request, response, { error: fault, dialect: 'chat', nowMs: 0 });
      return;
    }
    before?.(request, response);
    if (!response.headersSent) this.#listener(request, response);
  }

  /** No tunnels here. */
  #onConnect(connection: Duplex): void {
    connection.on('error', () => connection.destroy());
    const fault = new HttpFault(405, 'There are no tunnels here.', { allow: 'GET, HEAD, POST' });
    exchanges.whenAnswered(connection, () => sendRawAnswer(connection, fault));
  }

  /** What came is no HTTP, not in time, or broken off. Once for each connection: nothing after it can be understood. */
  #onClientError(fault: NodeJS.ErrnoException, connection: Duplex): void {
    if (this.#lost.has(connection)) return;
    this.#lost.add(connection);
    const latest = exchanges.latest(connection);
    if (fault.code === 'ECONNRESET') connection.destroy();
    else if (latest === undefined || latest.req.complete) this.#answerStray(connection, toHttpFault(fault.code));
    else if (latest.writableFinished) connection.destroy();
    else breakExchange(latest, toHttpFault(fault.code));
  }

  /** It belongs to no request that is known. A connection on which nothing was ever sent is owed no answer. */
  #answerStray(connection: Duplex, fault: HttpFault): void {
    if (connection instanceof Socket && connection.bytesRead === 0) connection.destroy();
    else exchanges.whenAnswered(connection, () => sendRawAnswer(connection, fault));
  }
}

function refuseExpectation(request: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = false;
  const error = new HttpFault(417, 'The only expectation that is met is 100-continue.');
  sendError(request, response, { error, dialect: 'chat', nowMs: 0 });
}

/** It belongs to the body of a request: whoever handles that request answers. */
function breakExchange(response: ServerResponse, fault: HttpFault): void {
  if (!response.headersSent) response.shouldKeepAlive = false;
  breakUpload(response.req, fault);
}
