import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, Metrics } from '@gateway/telemetry';
import { startNats, startNatsCluster } from '@gateway/testkit';
import { CertificateAuthority, type CertificateFiles } from '@gateway/testkit/certificates';
import { roomMs } from '@gateway/testkit/room';
import { encodeAccount, encodeOperator, encodeUser, fmtCreds } from '@nats-io/jwt';
import { createAccount, createOperator, createUser } from '@nats-io/nkeys';
import { AckPolicy } from 'nats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectNats, ensureUsageStream, type NatsServers } from '../src/index.ts';
import { smallStream } from './small-stream.ts';

const watchers = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
const names = { stream: 'USAGE', subject: 'usage.recorded', consumer: 'usage-ingest' };

describe('NATS over TLS', () => {
  let folder: string;
  let files: CertificateFiles;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'secure-nats-'));
    files = await (await CertificateAuthority.create()).writeFiles(folder, 'nats', { names: ['localhost'] });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('is spoken with a cluster whose certificates its CA has signed, and with no other', {
    timeout: roomMs(120_000),
  }, async () => {
    await using cluster = await startNatsCluster({ tls: files });
    const urls = cluster.servers.map(({ url }) => url);
    const connection = await connectNats({ urls, caFile: files.caFile }, watchers);
    const manager = async () => connection.jetstreamManager();
    const ensure = async (replicas: number) =>
      ensureUsageStream(await manager(), { ...smallStream, replicas }, names).then(() => 'made', String);
    await expect.poll(() => ensure(1), { interval: 200 }).toBe('made');
    const { consumers } = await manager();
    await consumers.add(names.stream, { durable_name: names.consumer, ack_policy: AckPolicy.Explicit });
    // An existing stream with fewer copies gets more, and so does its consumer.
    await expect.poll(() => ensure(3), { interval: 200 }).toBe('made');
    const copies = async () => {
      const { streams, consumers } = await manager();
      const infos = await Promise.all([streams.info(names.stream), consumers.info(names.stream, names.consumer)]);
      return infos.map(({ cluster: state }) => state?.replicas?.length);
    };
    await expect.poll(copies, { interval: 200 }).toEqual([2, 2]);
    await connection.close();
    await expect(connectedWithin(2_000, { urls })).rejects.toThrow('too late');
  });

  it("is opened with the seed of a user's nkey, also when the file has it only later", async () => {
    const user = createUser();
    const configuration = `authorization { users: [{ nkey: ${user.getPublicKey()} }] }`;
    await using server = await startNats({ tls: files, configuration });
    const nkeyFile = join(folder, 'user.nk');
    await writeFile(nkeyFile, 'not yet');
    const connecting = connectedWithin(10_000, { urls: [server.url], caFile: files.caFile, nkeyFile });
    await writeFile(nkeyFile, `${Buffer.from(user.getSeed()).toString()}\n`);
    await (await connecting).close();
    await expect(connectedWithin(1_500, { urls: [server.url], caFile: files.caFile })).rejects.toThrow('too late');
  });

  it('is opened with a file of credentials, and again with a new one once the old one is refused', async () => {
    const [operator, account, user, other] = [createOperator(), createAccount(), createUser(), createUser()];
    const accountJwt = await encodeAccount('gateway', account, { limits: unlimited }, { signer: operator });
    const system = createAccount();
    const systemJwt = await encodeAccount('system', system, {}, { signer: operator });
    const configuration = `
      operator: ${await encodeOperator('test', operator)}
      system_account: ${system.getPublicKey()}
      resolver: MEMORY
      resolver_preload: { ${account.getPublicKey()}: ${accountJwt}, ${system.getPublicKey()}: ${systemJwt} }`;
    await using server = await startNats({ configuration });
    const credsFile = join(folder, 'user.creds');
    // The token is refused as soon as its second has passed.
    const soon = { exp: Math.floor(Date.now() / 1_000) + 2 };
    await writeFile(credsFile, fmtCreds(await encodeUser('edge', user, account, {}, soon), user));
    const connection = await connectNats({ urls: [server.url], credsFile }, watchers);
    const statuses = connection.status();
    await writeFile(credsFile, fmtCreds(await encodeUser('edge', other, account), other));
    for await (const { type } of statuses) if (type === 'reconnect') break;
    await ensureUsageStream(await connection.jetstreamManager(), smallStream, names);
    await connection.close();
  });
});

const unlimited = {
  conn: -1,
  leaf: -1,
  subs: -1,
  data: -1,
  payload: -1,
  imports: -1,
  exports: -1,
  wildcards: true,
  mem_storage: -1,
  disk_storage: -1,
  streams: -1,
  consumer: -1,
};

async function connectedWithin(timeoutMs: number, servers: NatsServers) {
  const late = AbortSignal.timeout(timeoutMs);
  return connectNats(servers, watchers, late).catch(() => {
    throw new Error('too late');
  });
}
