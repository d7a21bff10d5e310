import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvReader } from '@gateway/config';
import { Tls } from '@gateway/rpc/grpc';
import { CertificateAuthority } from '@gateway/testkit/certificates';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readMetricsUrls } from '../config.ts';
import { networkReplicas, ownReplica } from './replica-directory.ts';

const signal = new AbortController().signal;

async function listening(server: ReturnType<typeof createServer | typeof createTlsServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const replica =
  ({ metrics = 'up 1\n', problem = '' } = {}): RequestListener =>
  ({ url }, response) => {
    if (url === '/metrics') response.end(metrics);
    else if (problem !== '') response.writeHead(503).end(`${problem}\n`);
    else response.end('ok\n');
  };

function directory(urls: Readonly<Record<string, string>>, tls?: Tls) {
  const replicas = networkReplicas(Object.entries(urls), tls);
  onTestFinished(() => replicas[Symbol.dispose]());
  return replicas;
}

describe('the replicas of a network', () => {
  it('are all asked at once for their metrics and whether they are ready', async () => {
    const [edge, limiter] = await Promise.all([
      listening(createServer(replica())),
      listening(createServer(replica({ metrics: 'limiter 2\n', problem: 'Redis is away' }))),
    ]);
    const { read } = directory({
      'edge-router': `http://127.0.0.1:${edge}`,
      limiter: `http://localhost:${limiter}`,
    });
    const readings = await read(signal);
    expect(readings).toContainEqual({
      service: 'edge-router',
      address: `127.0.0.1:${edge}`,
      metrics: 'up 1\n',
      problem: undefined,
      asked: { fromMs: expect.any(Number), toMs: expect.any(Number) },
    });
    // A name may stand for ::1 as well.
    expect(readings.filter(({ service, metrics }) => service === 'limiter' && metrics !== undefined)).toEqual([
      {
        ...{ service: 'limiter', address: `127.0.0.1:${limiter}`, metrics: 'limiter 2\n', problem: 'Redis is away' },
        asked: { fromMs: expect.any(Number), toMs: expect.any(Number) },
      },
    ]);
  });

  it('are listed with their problem when they cannot be asked, and the others as they are', async () => {
    const edge = await listening(createServer(replica()));
    const { read } = directory({
      'edge-router': `http://127.0.0.1:${edge}`,
      limiter: 'http://127.0.0.1:9',
      identity: 'http://nowhere.invalid:9090',
    });
    expect(await read(signal)).toMatchObject([
      { service: 'edge-router', metrics: 'up 1\n', problem: undefined },
      { service: 'limiter', address: '127.0.0.1:9', metrics: undefined, problem: expect.stringContaining('ECONN') },
      { service: 'identity', address: 'nowhere.invalid:9090', metrics: undefined, problem: expect.any(String) },
    ]);
  });

  it('report their settings, except for this process', async () => {
    const setting = { name: 'REDIS_URL', value: 'redis://redis', origin: 'environment' };
    const limiter = await listening(
      createServer(({ method, url }, response) => {
        response.writeHead(method === 'POST' && url === '/settings' ? 200 : 500).end(JSON.stringify([setting]));
      }),
    );
    const older = await listening(createServer((_request, response) => response.writeHead(404).end('nothing')));
    const { settings } = directory({
      limiter: `http://127.0.0.1:${limiter}`,
      identity: `http://127.0.0.1:${older}`,
      admin: 'http://127.0.0.1:9',
    });
    expect(await settings(signal)).toMatchObject([
      { service: 'limiter', settings: [setting], problem: undefined },
      { service: 'identity', settings: undefined, problem: expect.stringContaining('its version does not report') },
    ]);
  });

  it('that hang are given up when the reader leaves', async () => {
    const port = await listening(createServer(() => undefined));
    const left = new AbortController();
    const reading = directory({ 'edge-router': `http://127.0.0.1:${port}` }).read(left.signal);
    left.abort();
    expect(await reading).toMatchObject([{ metrics: undefined, problem: expect.stringContaining('did not answer') }]);
  });

  it('are asked over TLS with a certificate, and must have one of their service', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'replicas-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const authority = await CertificateAuthority.create();
    const files = await authority.writeFiles(folder, 'admin', { names: ['admin'] });
    const limiter = await authority.issue({ names: ['limiter'] });
    const options = { cert: limiter.certPem, key: limiter.keyPem, ca: authority.certificatePem, requestCert: true };
    const port = await listening(createTlsServer(options, replica()));
    const tls = new Tls(files);
    onTestFinished(() => tls[Symbol.dispose]());
    const { read } = directory({ limiter: `https://127.0.0.1:${port}`, identity: `https://127.0.0.1:${port}` }, tls);
    expect(await read(signal)).toMatchObject([
      { service: 'limiter', metrics: 'up 1\n' },
      { service: 'identity', metrics: undefined, problem: expect.stringContaining('not one of identity') },
    ]);
  });
});

it('one process describes itself', async () => {
  const own = ownReplica({
    service: 'gateway',
    address: '127.0.0.1:9090',
    metrics: { exposition: async () => 'up 1\n' },
    notReady: async () => 'stopping',
  });
  expect(await own.read(signal)).toEqual([
    { service: 'gateway', address: '127.0.0.1:9090', metrics: 'up 1\n', problem: 'stopping' },
  ]);
});

describe('METRICS_URLS', () => {
  it('names the admin address of each service', () => {
    const reader = new EnvReader({ METRICS_URLS: 'edge-router=http://edge-router:9090, limiter=https://[::1]:9443/' });
    expect(readMetricsUrls(reader)).toEqual([
      ['edge-router', 'http://edge-router:9090'],
      ['limiter', 'https://[::1]:9443'],
    ]);
    reader.done();
    expect(readMetricsUrls(new EnvReader({}))).toEqual([]);
  });

  it.each(['limiter', 'http://limiter:9090', 'limiter=limiter:9090', 'limiter=http://limiter:9090/metrics'])(
    'describes the problem of %j',
    (text) => {
      const reader = new EnvReader({ METRICS_URLS: text });
      readMetricsUrls(reader);
      expect(() => reader.done()).toThrow(`"${text}" is not valid`);
    },
  );
});
