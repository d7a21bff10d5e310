import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import type { ServiceRoute } from '@gateway/rpc';
import { addConnectRoutes } from '@gateway/rpc/connect';
import type { Logger, Metrics } from '@gateway/telemetry';
import { type AdminNames, adminRefusal } from './admin-access.ts';

export interface AdminServerOptions extends AdminNames {
  /** 0 picks a free port. */
  readonly port: number;
  readonly logger: Logger;
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
    const answer = answersOf(options);
    const server = createServer((request, response) => void answer(request, response));
    await once(server.listen(options.port, options.host), 'listening');
    server.on('error', (fault) => options.logger.error({ err: fault }, 'the admin port could not take a connection'));
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

type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** Never rejects: a fault of one answer is an answer too. */
function answersOf({ logger, metrics, notReady, ...options }: AdminServerOptions): Answer {
  const call = rpcAnswer({ logger, metrics, ...options });
  // What probes and Prometheus ask for has no check of the host name: it changes nothing and has no secret, and a probe
  // that is refused ends a process that is well.
  const answer = async (path: string, request: IncomingMessage, response: ServerResponse) => {
    if (path === '/livez') return send(response, 200, 'ok\n');
    if (path === '/metrics') return send(response, 200, await metrics.exposition(), metrics.registry.contentType);
    if (path !== '/readyz') return call(request, response);
    const reason = await notReady();
    return reason === undefined ? send(response, 200, 'ok\n') : send(response, 503, `${reason}\n`);
  };
  return async (request, response) => {
    const path = pathOf(request);
    try {
      await answer(path, request, response);
    } catch (thrown) {
      logger.error({ path, err: thrown }, 'the admin port could not answer');
      if (response.headersSent) response.destroy();
      else send(response, path === '/readyz' ? 503 : 500, 'This failed; the log says why.\n');
    }
  };
}

function rpcAnswer({ logger, metrics, routes, ...names }: Omit<AdminServerOptions, 'notReady'>): Answer {
  const refusals = metrics.counter({
    name: 'gateway_admin_refusals_total',
    help: 'Requests to the admin port that were refused for the host name or the web page they came by.',
    labels: ['reason'],
  });
  const rpc = connectNodeAdapter({
    routes: (router) =>
      addConnectRoutes(router, routes, (method, fault, requestId) =>
        logger.error({ method, requestId, err: fault }, 'a call failed by a fault of ours'),
      ),
    acceptCompression: [],
  });
  return (request, response) => {
    const refusal = adminRefusal(request.headers, names);
    if (refusal === undefined) return rpc(request, response);
    const { reason, text } = refusal;
    refusals.inc({ reason });
    const { host, origin } = request.headers;
    logger.warn({ reason, host, origin, path: pathOf(request) }, 'a request to the admin port was refused');
    return send(response, 403, text);
  };
}

function pathOf({ url }: IncomingMessage): string {
  return url?.split('?', 1)[0] ?? '';
}

function send(response: ServerResponse, status: number, text: string, contentType = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': contentType, 'x-content-type-options': 'nosniff' }).end(text);
}
