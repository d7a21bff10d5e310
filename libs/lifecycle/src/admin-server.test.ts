import { once } from 'node:events';
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type Handlers, serviceRoute } from '@gateway/rpc';
import { connectClient } from '@gateway/rpc/connect-client';
import type { Tls } from '@gateway/rpc/grpc';
import { type Logger, Metrics } from '@gateway/telemetry';
import { afterEach, describe, expect, it } from 'vitest';
import { type AdminServer, type AdminServerOptions, listenAdmin } from './admin-server.ts';

const path = '/gateway.limiter.v1.LimiterService/Peek';
const open: AdminServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server[Symbol.asyncDispose]();
});

type Peek = Handlers<typeof LimiterService>['peek'];

interface Logged {
  readonly about: Readonly<Record<string, unknown>>;
  readonly text: string;
}

async function anAdminServer(options: Partial<AdminServerOptions> & { readonly peek?: Peek } = {}) {
  const { peek = () => ({}), ...changes } = options;
  const logged: Logged[] = [];
  const note = (about: Logged['about'], text: string) => void logged.push({ about, text });
  const metrics = new Metrics();
  const calls: unknown[] = [];
  const route = serviceRoute(LimiterService, {
    admit: () => ({}),
    settle: () => ({}),
    peek: (message, context) => {
      calls.push(message);
      return peek(message, context);
    },
    admitStream: async function* () {},
    heartbeat: () => ({}),
  });
  const server = await listenAdmin({
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    // All of a logger that the admin server uses.
    logger: { error: note, warn: note } as unknown as Logger,
    metrics,
    routes: [route],
    notReady: async () => undefined,
    ...changes,
  });
  open.push(server);
  const url = `http://127.0.0.1:${server.port}`;
  const call = (headers: OutgoingHttpHeaders = {}) =>
    send(`${url}${path}`, 'POST', { 'content-type': 'application/json', ...headers }, '{"key":"k"}');
  return { url, port: server.port, server, logged, calls, call, metrics };
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

describe('calls on the admin port', () => {
  it('that fail by a fault of ours are logged with their method, and nothing of the fault is shown', async () => {
    const fault = new TypeError('undefined is not a token');
    const { call, logged } = await anAdminServer({ peek: () => Promise.reject(fault) });
    const answer = await call();
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('undefined');
    expect(logged).toMatchObject([
      { about: { method: expect.stringContaining('gateway.limiter.v1.LimiterService.Peek'), err: fault } },
    ]);
  });

  it.each([
    ['the reason of the signal', (signal: AbortSignal) => signal.reason],
    ['an error that is made of it', (signal: AbortSignal) => new Error('stopped', { cause: signal.reason })],
    ['an abort error', () => new DOMException('This operation was aborted', 'AbortError')],
  ])('say that their deadline has passed, when the handler throws %s', async (_, thrownFor) => {
    const peek: Peek = async (_request, { signal }) => {
      await once(signal, 'abort');
      throw thrownFor(signal);
    };
    const { call, logged } = await anAdminServer({ peek });
    const answer = await call({ 'connect-timeout-ms': '50' });
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'deadline_exceeded' });
    expect(logged).toEqual([]);
  });

  it('that the caller leaves are no fault', async () => {
    const left = Promise.withResolvers<unknown>();
    const peek: Peek = async (_request, { signal }) => {
      await once(signal, 'abort');
      left.resolve(signal.reason);
      throw signal.reason;
    };
    const { url, logged } = await anAdminServer({ peek });
    const sent = request(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' } });
    sent.on('error', () => undefined).end('{}');
    await expect.poll(async () => (await send(`${url}/livez`, 'GET', {})).status).toBe(200);
    sent.destroy();
    await left.promise;
    await send(`${url}/livez`, 'GET', {});
    expect(logged).toEqual([]);
  });

  it('fail at our own client with the status they failed with', async () => {
    const peek: Peek = async (_request, { signal }) => {
      await once(signal, 'abort');
      throw signal.reason;
    };
    const { url } = await anAdminServer({ peek });
    const limiter = connectClient(LimiterService, url);
    await expect(limiter.peek({}, { timeoutMs: 50 })).rejects.toMatchObject({ status: 'deadline_exceeded' });
    const gaveUp = AbortSignal.timeout(50);
    await expect(limiter.peek({}, { signal: gaveUp })).rejects.toMatchObject({ status: 'cancelled' });
  });

  it.each(['', 'Host: a b\r\n', 'Host: [\r\n', 'Host: http://x\r\n'])(
    'with a Host header like %j are refused, and the process goes on',
    async (host) => {
      const { port, url } = await anAdminServer();
      const socket = connect(port, '127.0.0.1');
      socket.write(`POST ${path} HTTP/1.0\r\n${host}content-type: application/json\r\ncontent-length: 2\r\n\r\n{}`);
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 40[03] /);
      expect((await send(`${url}/livez`, 'GET', {})).status).toBe(200);
    },
  );
});

describe('who may call the admin port', () => {
  it.each([
    'localhost',
    'localhost:9090',
    'LOCALHOST',
    'localhost.',
    '127.0.0.1:9090',
    '10.2.3.4',
    '[::1]:9090',
    '[fd00::7]',
  ])('any client that calls it %s', async (host) => {
    const { call } = await anAdminServer();
    expect((await call({ host })).status).toBe(200);
  });

  it.each(['evil.example', 'evil.example:9090', 'localhost.evil.example', 'identity:9090', '127.0.0.1.evil.example'])(
    'not one that calls it %s',
    async (host) => {
      const { call, calls, logged, metrics } = await anAdminServer();
      const answer = await call({ host });
      expect(answer.status).toBe(403);
      expect(answer.headers['content-type']).toContain('text/plain');
      expect(answer.text).toContain(`add ${host.replace(':9090', '')} to the setting ADMIN_ALLOWED_HOSTS`);
      expect(calls).toEqual([]);
      expect(logged).toMatchObject([{ about: { reason: 'host', host, path } }]);
      expect(await metrics.exposition()).toContain('gateway_admin_refusals_total{reason="host"} 1');
    },
  );

  it('one that uses a name of the setting, or below a name of it, or the name it listens on', async () => {
    const { call } = await anAdminServer({ host: 'localhost', allowedHosts: ['identity', '.gateway.svc'] });
    for (const host of ['identity', 'Identity:9090', 'edge-0.gateway.svc:9090']) {
      expect((await call({ host })).status).toBe(200);
    }
    for (const host of ['gateway.svc', 'identity.evil.example', 'evilgateway.svc']) {
      expect((await call({ host })).status).toBe(403);
    }
  });

  it('pages that it served itself', async () => {
    const { call } = await anAdminServer({ allowedHosts: ['ops.example'] });
    for (const host of ['localhost:9090', '127.0.0.1:9090', 'ops.example', '[::1]:9090']) {
      expect((await call({ host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    }
    // Behind a proxy that speaks TLS, and calls it by its address.
    expect((await call({ host: '10.2.3.4:9090', origin: 'https://ops.example' })).status).toBe(200);
  });

  it.each(['http://evil.example', 'http://localhost:3000', 'https://evil.example:9090', 'null', 'file://', ''])(
    'not pages of the origin %j',
    async (origin) => {
      const { call, calls, logged, metrics } = await anAdminServer();
      const answer = await call({ host: 'localhost:9090', origin });
      expect(answer.status).toBe(403);
      expect(calls).toEqual([]);
      expect(logged).toMatchObject([{ about: { reason: 'origin', origin } }]);
      expect(await metrics.exposition()).toContain('gateway_admin_refusals_total{reason="origin"} 1');
    },
  );

  it.each(['cross-site', 'same-site'])('not a page whose request has no origin and is %s', async (site) => {
    const { call, calls } = await anAdminServer();
    expect((await call({ 'sec-fetch-site': site })).status).toBe(403);
    expect(calls).toEqual([]);
  });

  it('not one without the content type that makes browsers ask first', async () => {
    const { url, calls } = await anAdminServer();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      expect((await send(url + path, 'POST', { 'content-type': type }, '{"key":"k"}')).status).toBe(415);
    }
    const query = `?encoding=json&connect=v1&message=${encodeURIComponent('{"key":"k"}')}`;
    expect((await send(url + path + query, 'GET', {})).status).toBe(405);
    expect((await send(url + path, 'OPTIONS', { origin: 'http://evil.example' })).status).toBe(403);
    expect(calls).toEqual([]);
  });
});
