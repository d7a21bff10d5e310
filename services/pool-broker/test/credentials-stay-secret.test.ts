import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '@gateway/config';
import { parseEncryptionKeys } from '@gateway/config/encryption';
import { migratePostgres, openPostgres } from '@gateway/database/postgres';
import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { openChannel } from '@gateway/rpc/grpc';
import { type FaultScript, startSimulator } from '@gateway/simulator';
import { createTestDatabase, freePort, startRedis } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AccountTable } from '../src/credentials/account-table.ts';
import { Encryption } from '../src/credentials/encryption.ts';

const canary = 'canary';
const key = Buffer.from(`${canary}-key-${'x'.repeat(32)}`.slice(0, 32)).toString('base64');
const mask = (text: string) => text.replaceAll(/[^a-zA-Z0-9]/g, '').toLowerCase();

/** A stand-alone broker as operators run it, with all its output. */
async function brokerProcess(env: Readonly<Record<string, string>>) {
  const [grpc, secret, admin] = [await freePort(), await freePort(), await freePort()];
  const child = spawn(process.execPath, [join(import.meta.dirname, '../src/main.ts')], {
    env: {
      ...{ PATH: process.env.PATH ?? '', GRPC_PORT: `${grpc}`, CREDENTIAL_PORT: `${secret}`, ADMIN_PORT: `${admin}` },
      ...{ LOG_LEVEL: 'trace', ...env },
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += String(chunk)));
  const adminUrl = `http://127.0.0.1:${admin}`;
  const isReady = () =>
    fetch(`${adminUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(isReady).toBe(true);
  const open = (port: number) => {
    const channel = openChannel(`http://127.0.0.1:${port}`);
    onTestFinished(() => channel[Symbol.dispose]());
    return channel;
  };
  return {
    adminUrl,
    credentials: open(secret).client(CredentialService),
    pools: open(grpc).client(PoolBrokerService),
    end: async () => {
      child.kill('SIGTERM');
      await once(child, 'exit');
      return said;
    },
  };
}

describe('secrets of accounts', () => {
  it('reach those who ask for a credential, and no log, metric, error or answer to operators', async () => {
    await using simulator = await startSimulator({ oauth: { accessTokenSeconds: 3 } });
    await using redis = await startRedis();
    await using database = await createTestDatabase();
    await migratePostgres(database.url);
    await using tables = openPostgres(database.url);
    const encryption = new Encryption(parseEncryptionKeys(`k1:${key}`) ?? expect.fail());
    const table = new AccountTable(tables);
    const tokenUrl = `${simulator.url}/oauth/token`;
    const addStored = (name: string, refreshToken: string) => {
      const credential = {
        kind: 'oauth' as const,
        tokenUrl,
        clientId: 'c',
        clientSecret: new Secret(`cs-${canary}`),
        refreshToken: new Secret(refreshToken),
        scopes: [],
      };
      const rest = { models: undefined, maxConcurrency: undefined, state: 'active' as const };
      return table.add({ pool: 'responses', name, credential, ...rest }, encryption);
    };
    await addStored('stored', simulator.oauth.grant('stored', `rt-stored-${canary}`));
    await addStored('damaged', `rt-damaged-${canary}`);
    await tables
      .updateTable('accounts')
      .set({ credential: `v1.${canary}` })
      .where('account_id', '=', 'responses/damaged')
      .execute();

    const folder = await mkdtemp(join(tmpdir(), 'credentials-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'gateway.yaml');
    await writeFile(
      file,
      `
pools: { responses: { format: responses, owned_by: o, base_url: "${simulator.url}/v1" } }
accounts:
  - { pool: responses, name: plain, credential: { bearer: "\${PLAIN}" } }
  - { pool: responses, name: in-file, credential: { oauth: { token_url: "${tokenUrl}", client_id: c, refresh_token: "\${REFRESH}" } } }
`,
    );
    const broker = await brokerProcess({
      REDIS_URL: redis.url,
      DATABASE_URL: database.url,
      GATEWAY_CONFIG: file,
      ACCOUNT_KEYS: `k1:${key}`,
      ACCOUNT_POLL_SECONDS: '1',
      PLAIN: `bearer-${canary}`,
      REFRESH: simulator.oauth.grant('in-file', `rt-in-file-${canary}`),
    });
    const ask = (name: string, refusedVersion = '') =>
      broker.credentials
        .getCredential(
          { target: { case: 'accountId', value: `responses/${name}` }, refusedVersion },
          { timeoutMs: roomMs(9_000) },
        )
        .then(({ secret }) => String(secret.value), String);

    expect(await ask('plain')).toBe(`bearer-${canary}`);
    const tokens = [await ask('stored'), await ask('in-file')];
    for (const token of tokens) expect(token).toMatch(/^sim_at_/);

    const faults: readonly FaultScript['fault'][] = [
      { kind: 'status', status: 500, body: `rt-${canary}` },
      { kind: 'status', status: 400, body: { error: `rt-${canary}`, error_description: canary } },
      { kind: 'status', status: 200, body: `{"access_token": "${canary}` },
      { kind: 'status', status: 302, headers: { location: `http://127.0.0.1:1/${canary}` } },
      { kind: 'reset' },
      { kind: 'status', status: 400, body: { error: 'invalid_grant', error_description: `rt-${canary}` } },
    ];
    for (const [n, fault] of faults.entries()) {
      simulator.faults.add({ path: '/oauth/token', account: n % 2 === 0 ? 'stored' : 'in-file', times: 1, fault });
    }
    const errors: string[] = [];
    for (const endsAtMs = performance.now() + 8_000; performance.now() < endsAtMs; ) {
      for (const name of ['stored', 'in-file', 'damaged', 'unknown']) {
        const answer = await ask(name);
        if (answer.startsWith('sim_at_')) tokens.push(answer);
        else errors.push(answer);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }

    const seen = [
      ...errors,
      JSON.stringify(await broker.pools.listAccounts({})),
      JSON.stringify(await broker.pools.explain({ model: 'gpt-5.5' })),
      await (await fetch(`${broker.adminUrl}/metrics`)).text(),
      await (
        await fetch(`${broker.adminUrl}/gateway.pool.v1.CredentialService/GetCredential`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ accountId: 'responses/plain' }),
        })
      ).text(),
      await broker.end(),
    ].join('\n');
    expect(errors.length).toBeGreaterThan(10);
    expect(seen).toMatch(/could not be refreshed/);
    expect(seen).toMatch(/gateway_account_token_refreshes_total\{[^}]*failed/);
    expect(seen).not.toContain(canary);
    expect(seen).not.toContain(key);
    expect(mask(seen)).not.toContain(mask(key));
    for (const token of new Set(tokens)) expect(seen).not.toContain(token);
    expect(seen).not.toMatch(/sim_[ar]t_/);

    const rows = await Promise.all([
      tables.selectFrom('accounts').selectAll().where('account_id', '!=', 'responses/damaged').execute(),
      tables.selectFrom('account_grants').selectAll().execute(),
      tables.selectFrom('audit_log').selectAll().execute(),
    ]);
    expect(rows[1].length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toMatch(/canary|sim_[ar]t_/);
    expect(JSON.stringify(rows)).not.toContain(Buffer.from(`rt-stored-${canary}`).toString('base64url').slice(0, 16));
  });
});
