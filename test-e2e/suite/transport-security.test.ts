import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { type Client, serviceRoute } from '@gateway/rpc';
import { GrpcServer, grpcDefinition, openChannel, type Refusal, Tls } from '@gateway/rpc/grpc';
import { CertificateAuthority } from '@gateway/testkit/certificates';
import { roomMs } from '@gateway/testkit/room';
import { credentials, makeGenericClientConstructor, type ServiceError } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBalancer } from '../faults/limit-window-balancer.ts';

const timeoutMs = roomMs(5_000);

let stack: AsyncDisposableStack;
let folder: string;
let authority: CertificateAuthority;
let endWatching: () => void;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  folder = await mkdtemp(join(tmpdir(), 'gateway-tls-'));
  stack.defer(() => rm(folder, { recursive: true }));
  authority = await CertificateAuthority.create();
});
afterEach(() => stack.disposeAsync());

/** The certificate files of a process, which it reads again every 20 ms. */
async function identityOf(
  name: string,
  { by = authority, ...request } = {} as { by?: CertificateAuthority; notAfter?: Date },
) {
  const files = await by.writeFiles(join(folder, name), 'tls', { names: [name, 'localhost'], ...request });
  return stack.use(new Tls({ ...files, rereadMs: 20 }));
}

/** A server with the ledger's totals, and a stream of token changes that never sends one. */
async function serve(tls: Tls) {
  const refused: Refusal[] = [];
  const ended = Promise.withResolvers<void>();
  endWatching = ended.resolve;
  const routes = [
    serviceRoute(UsageQueryService, {
      getUsage: () => ({}),
      getDayTotal: () => ({ totalTokens: 7 }),
      getGroupTotal: () => ({}),
      getTypicalOutput: () => ({}),
    }),
    serviceRoute(IdentityService, {
      resolve: () => ({}),
      ...{ issue: () => ({}), revoke: () => ({}), update: () => ({}), rotate: () => ({}), list: () => ({}) },
      watchChanges: async function* () {
        yield {};
        await ended.promise;
        yield {};
      },
    }),
  ];
  const onRefused = (refusal: Refusal) => refused.push(refusal);
  const server = await GrpcServer.listen({ host: '127.0.0.1', port: 0, routes, tls, onRefused });
  stack.defer(() => server.stop(0));
  return { port: server.port, url: `https://127.0.0.1:${server.port}`, address: `localhost:${server.port}`, refused };
}

function connect(url: string, tls: Tls, service = 'usage-query') {
  const problems: string[] = [];
  const channel = stack.use(
    openChannel(url, { tls, service, onUnreachable: (_, { message }) => problems.push(message) }),
  );
  return { query: channel.client(UsageQueryService), identity: channel.client(IdentityService), problems };
}

const dayTotal = (query: Client<typeof UsageQueryService>) => query.getDayTotal({ tokenId: 'a' }, { timeoutMs });

describe('calls between services with TLS', () => {
  it('are answered when the call table has them', async () => {
    const { url, refused } = await serve(await identityOf('usage-query'));
    expect(await dayTotal(connect(url, await identityOf('limiter')).query)).toMatchObject({ totalTokens: 7 });
    expect(refused).toEqual([]);
  });

  it('are refused when the call table does not give them to the name in the certificate', async () => {
    const { url, refused } = await serve(await identityOf('usage-query'));
    const { query, identity } = connect(url, await identityOf('edge-router'));
    await expect(dayTotal(query)).rejects.toMatchObject({ status: 'permission_denied' });
    await expect(query.getUsage({}, { timeoutMs })).resolves.toBeDefined();
    await expect(identity.issue({}, { timeoutMs })).rejects.toThrow(
      'edge-router may not call /gateway.identity.v1.IdentityService/Issue.',
    );
    expect(refused).toContainEqual({
      path: '/gateway.usage.v1.UsageQueryService/GetDayTotal',
      caller: ['edge-router'],
    });
  });

  it('are refused alike to other gRPC clients, which may ask for health', async () => {
    const { address, refused } = await serve(await identityOf('usage-query'));
    const ask = async (name: string) => {
      const { certPem, keyPem } = await authority.issue({ names: [name, 'localhost'] });
      const [ca, key, cert] = [authority.certificatePem, keyPem, certPem].map((text) => Buffer.from(text));
      const Client = makeGenericClientConstructor(grpcDefinition(UsageQueryService), 'UsageQueryService');
      const client = new Client(address, credentials.createSsl(ca ?? null, key, cert));
      stack.defer(() => client.close());
      const { promise, resolve } = Promise.withResolvers<unknown>();
      const call = client.getDayTotal as (
        request: object,
        done: (error: ServiceError | null, answer: unknown) => void,
      ) => void;
      call.call(client, {}, (error, answer) => resolve(error?.details ?? answer));
      return promise;
    };
    expect(await ask('limiter')).toMatchObject({ totalTokens: 7 });
    expect(await ask('billing')).toBe('billing may not call /gateway.usage.v1.UsageQueryService/GetDayTotal.');
    expect(refused).toEqual([{ path: '/gateway.usage.v1.UsageQueryService/GetDayTotal', caller: ['billing'] }]);
  });

  it('fail, with the reason, when a certificate is expired, of another authority or of another service', async () => {
    const other = await CertificateAuthority.create();
    const server = await serve(await identityOf('usage-query'));
    const expired = await identityOf('limiter', { notAfter: new Date(Date.now() - 1_000) });
    const foreign = await identityOf('identity', { by: other });
    /** The client trusts the server, but the server does not trust the client. */
    const foreignIdentity = async () => {
      const files = await other.writeFiles(join(folder, 'foreign'), 'tls', { names: ['limiter'] });
      await writeFile(files.caFile, authority.certificatePem);
      return stack.use(new Tls(files));
    };
    const whatHappens = async (to: typeof server, own: Tls, service?: string) => {
      const { query, problems } = connect(to.url, own, service);
      await expect(dayTotal(query)).rejects.toMatchObject({ status: 'unavailable' });
      return problems.join();
    };
    await whatHappens(server, expired);
    expect(server.refused.at(-1)).toMatchObject({
      address: expect.stringContaining('127.0.0.1:'),
      problem: 'its certificate is not valid: CERT_HAS_EXPIRED',
    });
    expect(await whatHappens(server, foreign)).toMatch(/unable to verify|self-signed certificate/);
    await whatHappens(server, await foreignIdentity());
    expect(server.refused).toContainEqual(
      expect.objectContaining({
        problem: expect.stringMatching(/^its certificate is not valid: (UNABLE_TO_VERIFY|SELF_SIGNED)/),
      }),
    );
    const bare = connectTls({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(bare, 'close');
    expect(server.refused).toContainEqual(expect.objectContaining({ problem: 'it has no certificate' }));
    expect(await whatHappens(server, await identityOf('edge-router'), 'identity')).toContain(
      'the certificate is not one of identity: it has DNS:usage-query',
    );
    expect(await whatHappens(await serve(expired), await identityOf('edge-router'))).toContain(
      'certificate has expired',
    );
    expect(await whatHappens({ ...server, url: server.url.replace('https', 'http') }, expired)).not.toBe('');
  });

  it('continue while certificates and authority are replaced, and new connections need the new ones', async () => {
    const next = await CertificateAuthority.create();
    const serverTls = await identityOf('usage-query');
    const { url } = await serve(serverTls);
    const ownTls = await identityOf('edge-router');
    const watching = connect(url, ownTls).identity.watchChanges({})[Symbol.asyncIterator]();
    await watching.next();

    for (const name of ['usage-query', 'edge-router']) {
      await next.writeFiles(join(folder, name), 'tls', { names: [name] });
    }
    const isNew = ({ certificates: { ca } }: Tls) => String(ca) === next.certificatePem;
    while (!isNew(serverTls) || !isNew(ownTls)) await sleep(10);
    await sleep(50);

    await expect(connect(url, ownTls).query.getUsage({}, { timeoutMs })).resolves.toBeDefined();
    const left = await identityOf('limiter');
    await expect(dayTotal(connect(url, left).query)).rejects.toMatchObject({ status: 'unavailable' });
    endWatching();
    expect(await watching.next()).toMatchObject({ done: false });
  });

  it('share one connection, also after the service was out of reach for a while', async () => {
    const { port } = await serve(await identityOf('usage-query'));
    const proxy = stack.use(await openBalancer());
    const { query, problems } = connect(proxy.url.replace('http:', 'https:'), await identityOf('limiter'));
    await expect.poll(() => dayTotal(query).catch(() => problems.length)).toBeGreaterThan(0);
    // For some attempts.
    await sleep(500);
    proxy.leadTo([`http://127.0.0.1:${port}`]);
    await expect.poll(() => dayTotal(query).catch(String)).toMatchObject({ totalTokens: 7 });
    // Longer than grpc-js' pause before it reconnects.
    await sleep(2_000);
    expect(proxy.connections).toBe(1);
  });

  it('keep the last certificates when the files cannot be used', async () => {
    const files = await authority.writeFiles(folder, 'tls', { names: ['limiter'] });
    const problems: string[] = [];
    const tls = stack.use(new Tls({ ...files, rereadMs: 10, onUnusable: ({ message }) => problems.push(message) }));
    await rm(files.keyFile);
    while (problems.length === 0) await sleep(10);
    expect(problems[0]).toContain(`${files.keyFile} can't be used: ENOENT`);
    const { url } = await serve(await identityOf('usage-query'));
    expect(await dayTotal(connect(url, tls).query)).toMatchObject({ totalTokens: 7 });
    expect(() => new Tls({ ...files, keyFile: files.certFile })).toThrow(`${files.certFile} can't be used`);
  });
});
