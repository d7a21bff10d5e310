import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { TLSSocket } from 'node:tls';
import { fullDiskText, settingsPath, settingsRead } from '@gateway/config';
import { mayReadMetrics, mayReadSettings, serviceNamesIn } from '@gateway/rpc';
import { expositionType, readBuild } from '@gateway/telemetry';
import { epochMs } from '@gateway/time';
import type { Service, ServiceRuntime } from './service.ts';

export interface AdminServerOptions extends ServiceRuntime, Pick<Service, 'adminApp' | 'notReady' | 'dataFolder'> {
  readonly adminHost: string;
  /** 0 picks a free port. */
  readonly adminPort: number;
  /** For tests only: how long a request may take to arrive. */
  readonly requestTimeoutMs?: number;
}

export interface AdminServer extends AsyncDisposable {
  readonly port: number;
  /** Makes `/readyz` fail from now on, because the process is stopping. */
  announceDrain(): void;
}

/**
 * The port of probes and Prometheus: `/livez`, `/readyz` and `/metrics`, plus the operators'
 * application where a service has one. Every other service answers `/settings` there, for the admin
 * service.
 */
export async function listenAdmin(options: AdminServerOptions): Promise<AdminServer> {
  const { logger } = options;
  const draining = addProcessGauges(options);
  let isDraining = false;
  const notReady = async () => (isDraining ? 'stopping' : options.notReady());
  const answer = answersOf({ ...options, notReady });
  const server = serverOf(options, async (request, response) => {
    const path = pathOf(request);
    try {
      await answer(path, request, response);
    } catch (thrown) {
      logger.error({ path, err: thrown }, 'internal error on the admin port');
      if (response.headersSent) response.destroy();
      else send(response, path === '/readyz' ? 503 : 500, 'Internal error. See the log for details.\n');
    }
  });
  await once(server.listen(options.adminPort, options.adminHost), 'listening');
  server.on('error', (fault) => logger.error({ err: fault }, 'the admin port failed to accept a connection'));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    announceDrain() {
      isDraining = true;
      draining.set(1);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** With TLS a client certificate is optional: probes of platforms and browsers have none. */
function serverOf({ tls, requestTimeoutMs = 30_000 }: AdminServerOptions, listener: RequestListener) {
  // Requests to this port are short, so a slow one only occupies a connection. Responses, such as
  // streams, may take as long as they need.
  const timeouts = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(10_000, requestTimeoutMs),
    connectionsCheckingInterval: Math.min(5_000, requestTimeoutMs),
  };
  if (tls === undefined) return createServer(timeouts, listener);
  const certificates = { ...tls.certificates, requestCert: true, rejectUnauthorized: false };
  const server = createTlsServer({ ...timeouts, ...certificates }, listener);
  tls.renew(server);
  return server;
}

/**
 * Gauges that every process has: its build, its clock and the expiry of its certificate.
 * @returns the gauge of draining.
 */
function addProcessGauges({ metrics, tls }: ServiceRuntime) {
  const info = { name: 'gateway_build_info', help: 'Always 1. The labels name the build.' };
  metrics.gauge({ ...info, labels: ['version', 'revision'] }).set({ ...readBuild() }, 1);
  metrics.gauge({
    name: 'gateway_clock_timestamp_seconds',
    help: 'The clock of the process at the time of the scrape.',
    read: () => epochMs() / 1_000,
  });
  if (tls !== undefined) {
    metrics.gauge({
      name: 'gateway_certificate_not_after_timestamp_seconds',
      help: 'When the certificate of this process expires.',
      read: () => tls.notAfter.getTime() / 1_000,
    });
  }
  return metrics.gauge({
    name: 'gateway_draining',
    help: '1 while the process drains: it accepts no new work and completes running work. Else 0.',
  });
}

/**
 * `/livez`, `/readyz` and `/metrics` do not check the host name: they change nothing and reveal no
 * secret, and a refused probe would end a healthy process.
 */
function answersOf({ logger, metrics, notReady, adminApp, dataFolder }: AdminServerOptions) {
  const refusals = metrics.counter({
    name: 'gateway_admin_refusals_total',
    help: 'Rejected requests to the admin port: wrong host name or origin, or no certificate that permits them.',
    labels: ['reason'],
  });
  return async (path: string, request: IncomingMessage, response: ServerResponse) => {
    if (path === '/livez') return send(response, 200, 'ok\n');
    if (path === '/readyz') {
      const problem = await notReady();
      if (problem !== undefined) return send(response, 503, `${problem}\n`);
      const full = dataFolder && fullDiskText(dataFolder);
      return send(response, 200, full ? `ok, but ${full}\n` : 'ok\n');
    }
    const isSettings = path === settingsPath && adminApp === undefined;
    if (path !== '/metrics' && !isSettings) {
      return adminApp === undefined ? send(response, 404, 'Not found.\n') : adminApp(request, response);
    }
    const refusal = isSettings ? settingsRefusal(request) : certificateRefusal(request, path, mayReadMetrics);
    if (refusal !== undefined) {
      refusals.inc({ reason: 'certificate' });
      logger.warn({ reason: refusal, path }, 'request to the admin port refused');
      return send(response, 403, `${refusal}\n`);
    }
    if (isSettings) return send(response, 200, JSON.stringify(settingsRead()), 'application/json');
    const type = expositionType(request.headers.accept);
    return send(response, 200, await metrics.exposition(type), type);
  };
}

/**
 * The settings contain no secret, but they are not for a web page that reaches this port through
 * DNS rebinding. Browsers send an origin with every POST, so a request with an origin is refused.
 */
function settingsRefusal(request: IncomingMessage): string | undefined {
  if (request.method !== 'POST' || request.headers.origin !== undefined) return 'Only the admin service may use this.';
  return certificateRefusal(request, settingsPath, mayReadSettings);
}

/** With TLS, only certain services may read this path. Undefined when the caller may. */
function certificateRefusal(
  { socket }: IncomingMessage,
  path: string,
  may: (names: readonly string[]) => boolean,
): string | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  if (!socket.authorized) return 'A client certificate from the authority in TLS_CA_FILE is required.';
  const names = serviceNamesIn(socket.getPeerX509Certificate()?.subjectAltName);
  if (may(names)) return undefined;
  return `${names.join(', ') || 'A caller without a name'} may not access ${path}.`;
}

function pathOf({ url }: IncomingMessage): string {
  return url?.split('?', 1)[0] ?? '';
}

function send(response: ServerResponse, status: number, text: string, contentType = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': contentType, 'x-content-type-options': 'nosniff' }).end(text);
}
