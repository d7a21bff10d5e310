import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createSecureServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import { createServer, getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { startConnectProxy } from '../__fixtures__/connect-proxy.ts';
import { answering, type RawServer, serve, startRawServer } from '../__fixtures__/raw-server.ts';
import { selfSigned } from '../__fixtures__/self-signed.ts';
import { createUpstream, type RecordedAnswer, record, requestTo } from '../__fixtures__/upstream-under-test.ts';
import type { UpstreamClient } from './upstream-client.ts';

const trusted = getCACertificates('default');
const trustServer = () => setDefaultCACertificates([...trusted, selfSigned.cert]);
const answer = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n';
let server: RawServer;

afterEach(async () => {
  setDefaultCACertificates(trusted);
  await server[Symbol.asyncDispose]();
});

const answered = (client: UpstreamClient, origin = server.origin): Promise<RecordedAnswer> =>
  record(client.send(requestTo(origin)));

describe('a connection over TLS', () => {
  it('is made with a server that Node trusts, by its name, for HTTP/1.1, and used again', async () => {
    const secured = await startSecure();
    trustServer();
    await using client = createUpstream();
    for (let n = 0; n < 2; n++) {
      expect(await answered(client)).toMatchObject({ body: 'hi', error: undefined });
      await nextTick();
    }
    expect(secured()).toEqual([{ serverName: 'localhost', protocol: 'http/1.1', isResumed: false }]);
  });

  it('resumes the session of an earlier one', async () => {
    const secured = await startSecure();
    server.onData = answering(answer.replace('\r\n', '\r\nconnection: close\r\n'));
    trustServer();
    await using client = createUpstream();
    for (let connections = 0; connections < 3; connections++) await answered(client);
    expect(secured().map(({ isResumed }) => isResumed)).toEqual([false, true, true]);
  });

  it('is not made with any other', async () => {
    await startSecure();
    await using client = createUpstream();
    expect((await answered(client)).error).toMatchObject({ kind: 'network' });
    expect(server.received.join('')).toBe('');
  });

  it('is not made with one of another name', async () => {
    await startSecure();
    trustServer();
    await using client = createUpstream();
    const { error } = await answered(client, server.origin.replace('localhost', '127.0.0.1'));
    expect(error).toMatchObject({ kind: 'network' });
    expect(server.received.join('')).toBe('');
  });

  it('breaks off in time when the handshake does not end', async () => {
    server = await startRawServer();
    await using client = createUpstream({ connectTimeoutMs: 100 });
    const { error } = await answered(client, server.origin.replace('http:', 'https:'));
    expect(error).toMatchObject({ kind: 'timeout' });
    await expect.poll(() => server.open()).toBe(0);
  });
});

describe('HTTP/2', () => {
  it.each([
    ['is spoken where the setting asks for it and the provider offers it', true, '2.0'],
    ['is not spoken otherwise', false, '1.1'],
  ])('%s', async (_what, http2, version) => {
    server = await startRawServer();
    const secure = createSecureServer({ ...selfSigned, allowHTTP1: true }, async (request, response) => {
      const body = Buffer.concat(await Array.fromAsync<Buffer>(request));
      response.write(`${request.httpVersion} `);
      setTimeout(() => response.end(body), 20);
    });
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    const origin = `https://localhost:${(secure.address() as AddressInfo).port}`;
    trustServer();
    await using client = createUpstream({ http2 });
    const answers = await Promise.all([answered(client, origin), answered(client, origin)]);
    for (const { body, error } of answers) expect([body, error]).toEqual([`${version} {}`, undefined]);
    secure.close();
  });

  it.each(['GOAWAY', 'a reset'])('has a request sent again that meets the end of a session: %s', async (what) => {
    server = await startRawServer();
    const sessions: ServerHttp2Session[] = [];
    const answer = (stream: ServerHttp2Stream) => {
      stream.respond({ ':status': 200 });
      stream.end('hi');
    };
    const secure = createSecureServer({ ...selfSigned });
    secure.on('session', (session) => {
      sessions.push(session);
      session.on('error', () => undefined);
      let streams = 0;
      session.on('stream', (stream) => {
        stream.on('error', () => undefined);
        streams += 1;
        if (streams === 1 || sessions.length > 1) answer(stream);
        else if (what === 'GOAWAY') session.goaway(0, 1);
        else session.destroy();
      });
    });
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    const origin = `https://localhost:${(secure.address() as AddressInfo).port}`;
    trustServer();
    await using client = createUpstream({ http2: true });
    for (let requests = 0; requests < 2; requests++) {
      expect(await answered(client, origin)).toMatchObject({ status: 200, body: 'hi', error: undefined });
    }
    expect(sessions).toHaveLength(2);
    for (const session of sessions) session.destroy();
    secure.close();
  });
});

describe('a process of its own', () => {
  it('trusts the certificates that NODE_EXTRA_CA_CERTS names', async () => {
    const secured = await startSecure();
    await using file = await fileOf(selfSigned.cert);
    expect(await answeredInProcess(file.path)).toBe('200 hi');
    expect(secured()).toHaveLength(1);
  });

  it('does not trust them otherwise', async () => {
    await startSecure();
    expect(await answeredInProcess(undefined)).toBe('UpstreamError network DEPTH_ZERO_SELF_SIGNED_CERT');
    expect(server.received.join('')).toBe('');
  });
});

describe('a proxy', () => {
  const portOf = (origin: string) => Number(new URL(origin).port);
  const proxies = (url: string) => ({ httpProxy: url, httpsProxy: url, noProxy: 'direct.example.com,localhost' });

  it('carries a stream to a provider through a tunnel, event by event, with TLS from end to end', async () => {
    await startSecure();
    server.onData = (socket) => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    trustServer();
    await using proxy = await startConnectProxy(portOf(server.origin));
    const { port } = new URL(server.origin);
    const httpsProxy = proxy.url.replace('//', '//user:pass@');
    await using client = createUpstream({ proxies: { httpsProxy, httpProxy: '', noProxy: '' } });
    const exchange = client.send(requestTo(`https://localhost:${port}`));
    await exchange.head();
    for (let n = 0; n < 5; n++) {
      server.sockets[0]?.write(`1\r\n${n}\r\n`);
      expect((await exchange.read())?.map(String)).toEqual([String(n)]);
    }
    server.sockets[0]?.write('0\r\n\r\n');
    expect(await exchange.read()).toBeUndefined();
    expect(proxy.asked).toEqual([`CONNECT localhost:${port}`]);
    expect(proxy.authorizations).toEqual([`Basic ${Buffer.from('user:pass').toString('base64')}`]);
  });

  it('closes the tunnel with the exchange', async () => {
    await startSecure();
    server.onData = () => undefined;
    trustServer();
    await using proxy = await startConnectProxy(portOf(server.origin));
    await using client = createUpstream({ proxies: { httpsProxy: proxy.url, httpProxy: '', noProxy: '' } });
    const exchange = client.send(requestTo(server.origin));
    await expect.poll(() => server.received.join('')).toContain('POST');
    exchange[Symbol.dispose]();
    await expect.poll(() => server.open()).toBe(0);
  });

  it('is asked for what is sent without TLS', async () => {
    server = await startRawServer();
    await using proxy = await startConnectProxy(0);
    await using client = createUpstream({ proxies: proxies(proxy.url) });
    expect(await answered(client, 'http://provider.example.com:81')).toMatchObject({ body: 'forwarded' });
    expect(proxy.asked).toEqual(['POST http://provider.example.com:81/']);
  });

  it('is not asked for hosts of NO_PROXY', async () => {
    await startSecure();
    trustServer();
    await using proxy = await startConnectProxy(0);
    await using client = createUpstream({ proxies: proxies(proxy.url) });
    expect(await answered(client)).toMatchObject({ body: 'hi', error: undefined });
    expect(proxy.asked).toEqual([]);
  });

  it.each([403, 407, 502])('that opens no tunnel fails the request, and nothing is sent: %i', async (status) => {
    await startSecure();
    await using proxy = await startConnectProxy(portOf(server.origin));
    proxy.status = status;
    await using client = createUpstream({ proxies: { httpsProxy: proxy.url, httpProxy: '', noProxy: '' } });
    expect((await answered(client)).error).toMatchObject({ kind: 'network' });
    expect(server.received.join('')).toBe('');
  });

  it('that does not answer fails the request in the time for a connection', async () => {
    server = await startRawServer();
    await using client = createUpstream({
      connectTimeoutMs: 200,
      proxies: { httpsProxy: server.origin, httpProxy: '', noProxy: '' },
    });
    expect((await answered(client, 'https://provider.example.com')).error).toMatchObject({ kind: 'timeout' });
  });
});

/**
 * The result in a process that starts with this setting, because Node reads it only at its start.
 */
async function answeredInProcess(extraCertificates: string | undefined): Promise<string> {
  const fixtures = new URL('../__fixtures__/upstream-under-test.ts', import.meta.url).href;
  const program = `
    const { createUpstream, record, requestTo } = await import(${JSON.stringify(fixtures)});
    const client = createUpstream();
    const { status, body, error } = await record(client.send(requestTo(${JSON.stringify(server.origin)})));
    const text = error === undefined ? [status, body] : [error.name, error.kind, error.cause?.code];
    process.stdout.write(text.join(' '));
    await client[Symbol.asyncDispose]();`;
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: extraCertificates };
  return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { env })).stdout;
}

async function fileOf(text: string) {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-certificates-'));
  const path = join(folder, 'extra.pem');
  await writeFile(path, text);
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

interface Secured {
  readonly serverName: string | false | null;
  readonly protocol: string | false | null;
  readonly isResumed: boolean;
}

/** Returns what was negotiated with each client. */
async function startSecure(): Promise<() => readonly Secured[]> {
  const secured: Secured[] = [];
  const secure = createServer({ ...selfSigned, ALPNProtocols: ['h2', 'http/1.1'] });
  secure.on('secureConnection', (socket: TLSSocket) => {
    const { servername: serverName, alpnProtocol: protocol } = socket;
    secured.push({ serverName, protocol, isResumed: socket.isSessionReused() });
  });
  server = await serve(secure, 'https', answering(answer));
  return () => secured;
}
