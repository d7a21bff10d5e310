import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createTestDatabase,
  startNatsCluster,
  startPgBouncer,
  startRedis,
  type TestServer,
  testBackends,
} from '@gateway/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';

import { issueToken, revokeToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import { type ServicesTopology, startServicesTopology } from '../topologies/services.ts';
import { commandLineSettings } from '../topologies/topology.ts';

const accountKeys = { ACCOUNT_KEYS: `k1:${'ab'.repeat(32)}` };

describe('the gateway as many processes on PgBouncer in transaction mode and a NATS cluster', () => {
  let gateway: ServicesTopology;
  let natsServers: readonly TestServer[];
  let databaseUrl: string;

  beforeAll(async () => {
    const { postgresUrl } = await testBackends();
    await using stack = new AsyncDisposableStack();
    const bouncer = stack.use(await startPgBouncer({ postgresUrl }));
    const database = stack.use(await createTestDatabase());
    const url = new URL(bouncer.url);
    url.pathname = new URL(database.url).pathname;
    databaseUrl = url.href;
    gateway = await startServicesTopology('pooled', {
      env: { ...accountKeys, NATS_STREAM_REPLICAS: '3' },
      openBackends: async (backends) => {
        backends.use(stack.move());
        const redis = backends.use(await startRedis());
        const cluster = backends.use(await startNatsCluster());
        natsServers = cluster.servers;
        return { redisUrl: redis.url, natsUrl: natsServers.map(({ url }) => url).join(','), postgresUrl: databaseUrl };
      },
    });
  });
  afterAll(() => gateway?.[Symbol.asyncDispose]());

  const statusOf = async (token: string) => (await chat(gateway, token, { model: 'gateway/claude' })).status;
  const requestsToday = (token: string) =>
    usageOf(gateway, token).then(
      ({ today }) => today.requests,
      () => -1,
    );

  it('issues, resolves and revokes tokens', async () => {
    const token = await issueToken(gateway);
    expect(await statusOf(token.text)).toBe(200);
    await revokeToken(gateway, token.tokenId);
    await expect.poll(() => statusOf(token.text)).toBe(401);
  });

  it('records usage and reports it, also when a NATS server ends', async () => {
    const token = await issueToken(gateway, { kind: 'personal' });
    let requests = 0;
    const ask = async () => {
      expect(await statusOf(token.text)).toBe(200);
      requests++;
    };
    const killed = process.env.FAULTS === 'long' ? natsServers : natsServers.slice(0, 1);
    for (const server of killed) {
      await ask();
      await server.kill();
      await ask();
      await expect.poll(() => requestsToday(token.text), { interval: 500 }).toBe(requests);
      await server.restart();
    }
    const report = await gatewayctl(['usage', 'reconcile'], {
      DATABASE_URL: databaseUrl,
      ADMIN_PORT: '1',
    });
    expect(report.stdout).toMatch(/7 days compared, no differences/);
  });

  it('keeps accounts and their secrets', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-e2e-'));
    try {
      const secretFile = join(folder, 'secret');
      await writeFile(secretFile, 'stored-secret');
      const env = commandLineSettings(gateway);
      const flags = ['--kind', 'api_key', '--secret-file', secretFile];
      expect(await gatewayctl(['account', 'add', 'messages/stored', ...flags], env)).toMatchObject({ exitCode: 0 });
      const listed = async () => (await gatewayctl(['account', 'list'], env)).stdout;
      await expect.poll(listed, { interval: 500 }).toMatch(/^messages +stored +available/m);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
