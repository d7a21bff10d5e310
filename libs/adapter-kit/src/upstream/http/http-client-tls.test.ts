import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { answering, type RawServer, serve, startRawServer } from '../../__fixtures__/raw-server.ts';
import { RecordedResponse } from '../../__fixtures__/recorded-response.ts';
import { selfSigned } from '../../__fixtures__/self-signed.ts';
import { HttpClient } from './http-client.ts';

const trusted = getCACertificates('default');
const answer = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n';
let server: RawServer;

afterEach(async () => {
  setDefaultCACertificates(trusted);
  await server[Symbol.asyncDispose]();
});

describe('a connection over TLS', () => {
  it('is made with a server that Node trusts, by its name, for HTTP/1.1, and used again', async () => {
    const secured = await startSecure();
    setDefaultCACertificates([...trusted, selfSigned.cert]);
    using client = new HttpClient(5_000);
    expect(await answered(client)).toMatchObject({ isWhole: true, body: 'hi' });
    expect(await answered(client)).toMatchObject({ isWhole: true });
    expect(secured()).toEqual([{ serverName: 'localhost', protocol: 'http/1.1', isResumed: false }]);
  });

  it('resumes the session of an earlier one', async () => {
    const secured = await startSecure();
    server.onData = answering(answer.replace('\r\n', '\r\nconnection: close\r\n'));
    setDefaultCACertificates([...trusted, selfSigned.cert]);
    using client = new HttpClient(5_000);
    for (let connections = 0; connections < 3; connections++) await answered(client);
    expect(secured().map(({ isResumed }) => isResumed)).toEqual([false, true, true]);
  });

  it('is not made with any other', async () => {
    await startSecure();
    using client = new HttpClient(5_000);
    expect((await answered(client)).error).toMatchObject({ kind: 'network' });
    expect(server.received.join('')).toBe('');
  });

  it('is not made with one of another name', async () => {
    await startSecure();
    setDefaultCACertificates([...trusted, selfSigned.cert]);
    using client = new HttpClient(5_000);
    const response = new RecordedResponse();
    client.send(server.origin.replace('localhost', '127.0.0.1'), request, response);
    expect((await response.over()).error).toMatchObject({ kind: 'network' });
    expect(server.received.join('')).toBe('');
  });

  it('carries large bodies either way, and holds the provider back while its call is paused', async () => {
    const size = 20_000_000;
    const secured = await startSecure();
    server.onData = (socket, received) => {
      if (received.length < size) return;
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`);
      socket.write(Buffer.alloc(size, 'x'));
    };
    setDefaultCACertificates([...trusted, selfSigned.cert]);
    using client = new HttpClient(5_000);
    const response = new RecordedResponse();
    let paused = 0;
    response.onTold = () => {
      if (paused > 0 || response.isOver) return;
      paused = 1;
      call.pause();
      setTimeout(() => {
        paused = response.body.length + 1;
        call.resume();
      }, 50);
    };
    const call = client.send(server.origin, { ...request, body: [Buffer.alloc(size, 'y')] }, response);
    await response.over();
    expect(response.error).toBeUndefined();
    expect(paused).toBeLessThan(1_000_000);
    expect(response.body === 'x'.repeat(size)).toBe(true);
    expect(secured()).toHaveLength(1);
  });

  it('breaks off in time when the handshake does not end', async () => {
    server = await startRawServer();
    using client = new HttpClient(100);
    const response = new RecordedResponse();
    client.send(server.origin.replace('http:', 'https:'), request, response);
    expect((await response.over()).error).toMatchObject({ kind: 'timeout' });
    await expect.poll(() => server.open()).toBe(0);
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

const request = { method: 'POST', path: '/', headers: {}, body: '{}' } as const;

function answered(client: HttpClient): Promise<RecordedResponse> {
  const response = new RecordedResponse();
  client.send(server.origin, request, response);
  return response.over();
}

/** What a process is told that begins with this setting: Node reads it only then. */
async function answeredInProcess(extraCertificates: string | undefined): Promise<string> {
  const program = `
    const { HttpClient } = await import(${JSON.stringify(new URL('./http-client.ts', import.meta.url).href)});
    const client = new HttpClient(10_000);
    let told = '';
    const tell = (text) => process.stdout.write(told + text, () => client[Symbol.dispose]());
    client.send(${JSON.stringify(server.origin)}, ${JSON.stringify(request)}, {
      onRequestSent: () => undefined,
      onResponseHead: (status) => (told += status + ' '),
      onResponseBytes: (bytes) => (told += bytes),
      onResponseEnd: () => tell(''),
      onResponseError: ({ name, kind, cause }) => tell([name, kind, cause?.code].join(' ')),
    });`;
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

/** Gives what was agreed with each client. */
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
