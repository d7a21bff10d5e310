import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import type { ServiceRoute } from '@gateway/rpc';
import { addConnectRoutes } from '@gateway/rpc/connect';
import type { Metrics } from '@gateway/telemetry';

export interface AdminServerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly metrics: Metrics;
  /** RPCs offered as JSON over HTTP. */
  readonly routes: readonly ServiceRoute[];
  /** Why requests can't be taken now; undefined when they can. */
  readonly notReady: () => Promise<string | undefined>;
}

/** The operators' port: `/livez`, `/readyz`, `/metrics`, and RPCs over the Connect protocol. Never to be made public. */
export class AdminServer {
  readonly port: number;
  readonly #server: Server;

  static async listen(options: AdminServerOptions): Promise<AdminServer> {
    const rpc = connectNodeAdapter({
      routes: (router) => addConnectRoutes(router, options.routes),
      acceptCompression: [],
    });
    const server = createServer((request, response) => void answer(request, response, options, rpc));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(options.port, options.host, resolve);
    });
    return new AdminServer(server);
  }

  private constructor(server: Server) {
    this.#server = server;
    const address = server.address();
    this.port = typeof address === 'object' && address !== null ? address.port : 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: AdminServerOptions,
  rpc: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<void> {
  const path = request.url?.split('?', 1)[0];
  if (path === '/livez') return send(response, 200, 'ok\n');
  if (path === '/readyz') {
    const reason = await options.notReady();
    return reason === undefined ? send(response, 200, 'ok\n') : send(response, 503, `${reason}\n`);
  }
  if (path === '/metrics')
    return send(response, 200, await options.metrics.exposition(), options.metrics.registry.contentType);
  rpc(request, response);
}

function send(response: ServerResponse, status: number, text: string, contentType = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': contentType }).end(text);
}
