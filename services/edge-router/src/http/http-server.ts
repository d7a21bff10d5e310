import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from '@gateway/errors';
import type { EdgeRouterConfig } from '../config.ts';
import { renderError } from '../errors/render-error.ts';

/** The public HTTP listener: timeouts that Node leaves loose, JSON for malformed HTTP, and a drain that cuts nothing. */
export class HttpServer {
  readonly #server: Server;
  readonly #config: EdgeRouterConfig;

  constructor(listener: RequestListener, config: EdgeRouterConfig) {
    this.#config = config;
    this.#server = createServer(
      {
        headersTimeout: config.headersTimeoutMs,
        requestTimeout: config.bodyTimeoutMs,
        // Node looks at its timeouts only so often; its own half a minute would make them meaningless.
        connectionsCheckingInterval: 1_000,
        // Longer than the idle time of common load balancers, so that it is they who close.
        keepAliveTimeout: 75_000,
        maxHeaderSize: 32 * 1024,
      },
      listener,
    );
    this.#server.on('clientError', (_fault, socket) => answerMalformed(socket as Socket));
  }

  /** Resolves with the port it listens on; rejects when the port is taken. */
  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject).listen(this.#config.port, this.#config.host, () => {
        this.#server.off('error', reject);
        const address = this.#server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : this.#config.port);
      });
    });
  }

  /** Takes no new connections, lets running requests end, and cuts what is left after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // Idle keep-alive connections would otherwise hold up the end; ones that finish later become idle later.
    const closeIdle = setInterval(() => this.#server.closeIdleConnections(), 100);
    const cut = setTimeout(() => this.#server.closeAllConnections(), timeoutMs);
    await closed;
    clearInterval(closeIdle);
    clearTimeout(cut);
  }
}

/** An answer to what was no HTTP request, where the connection can still take one. */
function answerMalformed(socket: Socket): void {
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const { body } = renderError(new GatewayError('invalid_request', 'The request is not valid HTTP.'), 'chat', 0);
  socket.end(
    `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
