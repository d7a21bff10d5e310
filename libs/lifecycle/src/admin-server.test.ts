import { once } from 'node:events';
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { EnvReader } from '@gateway/config';
import type { Tls } from '@gateway/rpc/grpc';
import { type Logger, Metrics } from '@gateway/telemetry';
import { afterEach, describe, expect, it } from 'vitest';
import { type AdminServer, type AdminServerOptions, listenAdmin } from './admin-server.ts';

const open: AdminServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server[Symbol.asyncDispose]();
});

interface Logged {
  readonly about: Readonly<Record<string, unknown>>;
  readonly text: string;
}

async function anAdminServer(changes: Partial<AdminServerOptions> = {}) {
  const logged: Logged[] = [];
  const note = (about: Logged['about'], text: string) => void logged.push({ about, text });
  const metrics = new Metrics();
  const server = await listenAdmin({
    adminHost: '127.0.0.1',
    adminPort: 0,
    // The parts of a logger that the admin server uses.
    logger: { error: note, warn: note } as unknown as Logger,
    metrics,
    notReady: async () => undefined,
    ...changes,
  });
  open.push(server);
  return { url: `http://127.0.0.1:${server.port}`, port: server.port, server, logged, metrics };
}

interface Sent {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** `fetch` does not let a caller choose the Host header. */
async function send(url: string, method: string, headers: OutgoingHttpHeaders, body = ''): Promise<Sent> {
  const sent = request(url, { method, headers, agent: false }).end(body);
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, headers: response.headers, text: await text(response) };
}

describe('health on the admin port', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('the store is in pieces');
      },
    ],
    ['rejects', () => Promise.reject(new Error('the store is in pieces'))],
  ])('is "not ready" when asking for it %s, and the log says why', async (_, notReady) => {
    const { url, logged } = await anAdminServer({ notReady });
    const answer = await send(`${url}/readyz`, 'GET', {});
    expect(answer.status).toBe(503);
    expect(answer.text).not.toContain('in pieces');
    expect(logged).toMatchObject([{ about: { path: '/readyz', err: { message: 'the store is in pieces' } } }]);
    expect((await send(`${url}/livez`, 'GET', {})).status).toBe(200);
  });

  it('says in its metrics which build runs', async () => {
    const { metrics } = await anAdminServer();
    expect(await metrics.exposition()).toMatch(/^gateway_build_info\{version="\d+\.\d+\.\d+",revision="unknown"\} 1$/m);
  });

  it('says that it is "not ready", and that it drains, once its process stops', async () => {
    const { url, server, metrics } = await anAdminServer();
    expect((await send(`${url}/readyz`, 'GET', {})).status).toBe(200);
    expect(await metrics.exposition()).toContain('gateway_draining 0\n');
    server.announceDrain();
    expect(await send(`${url}/readyz`, 'GET', {})).toMatchObject({ status: 503, text: 'stopping\n' });
    expect(await metrics.exposition()).toContain('gateway_draining 1\n');
  });

  it('says in its metrics when its certificate ends, as the files have it now', async () => {
    const tls = { certificates: {}, notAfter: new Date(1_800_000_000_000), renew: () => undefined };
    const { metrics } = await anAdminServer({ tls: tls as unknown as Tls });
    expect(await metrics.exposition()).toContain('gateway_certificate_not_after_timestamp_seconds 1800000000\n');
    tls.notAfter = new Date(1_900_000_000_000);
    expect(await metrics.exposition()).toContain('gateway_certificate_not_after_timestamp_seconds 1900000000\n');
  });

  it('says what it runs with to the admin service, and to no page of a browser', async () => {
    const { url } = await anAdminServer();
    new EnvReader({ ADMIN_SERVER_TEST: 'seen' }).optional('ADMIN_SERVER_TEST');
    const answer = await send(`${url}/settings`, 'POST', {});
    expect(JSON.parse(answer.text)).toContainEqual({ name: 'ADMIN_SERVER_TEST', value: 'seen', origin: 'environment' });
    expect((await send(`${url}/settings`, 'GET', {})).status).toBe(403);
    expect((await send(`${url}/settings`, 'POST', { origin: 'http://evil.example' })).status).toBe(403);
    const app = await anAdminServer({ adminApp: (_request, response) => void response.writeHead(418).end() });
    expect((await send(`${app.url}/settings`, 'POST', {})).status).toBe(418);
  });

  it('says what its clock shows', async () => {
    const { metrics } = await anAdminServer();
    const [, seconds] = /^gateway_clock_timestamp_seconds ([\d.]+)$/m.exec(await metrics.exposition()) ?? [];
    expect(Math.abs(Number(seconds) * 1_000 - Date.now())).toBeLessThan(60_000);
  });

  it('ends requests that do not arrive, and no answers', async () => {
    const { port } = await anAdminServer({
      requestTimeoutMs: 50,
      adminApp: (request, response) => {
        response.write('begun ');
        if (request.method === 'GET') setTimeout(() => response.end('and ended'), 500);
      },
    });
    const slow = connect(port, '127.0.0.1');
    slow.write('POST /slow HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nnot all of it');
    const { status, text: answer } = await send(`http://127.0.0.1:${port}/stream`, 'GET', {});
    expect([status, answer]).toEqual([200, 'begun and ended']);
    expect(await text(slow)).toMatch(/begun|408/);
  });

  it('shows metrics as OpenMetrics to a reader that asks for it', async () => {
    const { url } = await anAdminServer();
    const plain = await send(`${url}/metrics`, 'GET', {});
    expect(plain.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    const open = await send(`${url}/metrics`, 'GET', {
      accept: 'application/openmetrics-text;version=1.0.0,*/*;q=0.1',
    });
    expect(open.headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(open.text).toMatch(/^# EOF$/m);
  });

  it('shows metrics that fail as 500, and the log says why', async () => {
    const metrics = new Metrics();
    metrics.include(() => Promise.reject(new Error('a worker hangs')));
    const { url, logged } = await anAdminServer({ metrics });
    expect((await send(`${url}/metrics`, 'GET', {})).status).toBe(500);
    expect(logged).toMatchObject([{ about: { path: '/metrics', err: { message: 'a worker hangs' } } }]);
    expect((await send(`${url}/livez`, 'GET', {})).status).toBe(200);
  });

  it.each(['/livez', '/readyz', '/metrics'])('answers %s under any name, from any page', async (health) => {
    const { url } = await anAdminServer();
    const headers = { host: 'probe.example', origin: 'http://dashboard.example', 'sec-fetch-site': 'cross-site' };
    expect((await send(url + health, 'GET', headers)).status).toBe(200);
  });
});

describe('all else on the admin port', () => {
  const paths = ['/', '/index.html', '/livez/', '/metrics/x', '/gateway.identity.v1.IdentityService/Issue'];

  it.each(paths)('is not there: %s', async (path) => {
    const { url } = await anAdminServer();
    for (const method of ['GET', 'POST']) {
      const answer = await send(url + path, method, { 'content-type': 'application/json' });
      expect(answer).toMatchObject({ status: 404, text: 'Not found.\n' });
    }
  });

  it.each(paths)("is the service's own, where it has an app: %s", async (path) => {
    const { url } = await anAdminServer({
      adminApp: ({ method, url: asked }, response) => response.writeHead(418).end(`${method} ${asked}`),
    });
    expect(await send(`${url}${path}?x=1`, 'POST', {})).toMatchObject({ status: 418, text: `POST ${path}?x=1` });
    for (const own of ['/livez', '/readyz', '/metrics']) expect((await send(url + own, 'GET', {})).status).toBe(200);
  });

  it('fails as 500 when the app throws, and the log says why', async () => {
    const { url, logged } = await anAdminServer({
      adminApp: () => {
        throw new Error('in pieces');
      },
    });
    const answer = await send(`${url}/console`, 'GET', {});
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('in pieces');
    expect(logged).toMatchObject([{ about: { path: '/console', err: { message: 'in pieces' } } }]);
  });

  it.each(['', 'Host: a b\r\n', 'Host: [\r\n', 'Host: http://x\r\n'])(
    'may be asked for with a Host header like %j, and the process goes on',
    async (host) => {
      const { port, url } = await anAdminServer();
      const socket = connect(port, '127.0.0.1');
      socket.write(`POST /x HTTP/1.0\r\n${host}content-type: application/json\r\ncontent-length: 2\r\n\r\n{}`);
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 40[034] /);
      expect((await send(`${url}/livez`, 'GET', {})).status).toBe(200);
    },
  );
});
