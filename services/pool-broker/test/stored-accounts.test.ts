import { setTimeout as sleep } from 'node:timers/promises';
import { type AccountConfig, type Credential, type GatewayConfig, Secret } from '@gateway/config';
import type { EncryptionKey } from '@gateway/config/encryption';
import type { GatewayDatabase } from '@gateway/database';
import { AccountState } from '@gateway/proto/pool/v1/account_pb.js';
import { directClient } from '@gateway/rpc';
import { startSimulator } from '@gateway/simulator';
import { createLogger, Metrics } from '@gateway/telemetry';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gatewayWith, sampleAccount } from '../src/__fixtures__/sample-gateway.ts';
import { readCredentialConfig } from '../src/config.ts';
import { AccountTable } from '../src/credentials/account-table.ts';
import { Encryption } from '../src/credentials/encryption.ts';
import { rotateKeys } from '../src/credentials/rotate-keys.ts';
import { createPoolBrokerService } from '../src/service.ts';
import { MemoryPoolStore } from '../src/store/memory-pool-store.ts';
import { databaseOfTest, keysOf } from './__fixtures__/credential-backends.ts';

const settings = { ...readCredentialConfig({}), pollMs: 100 };
const encryption = new Encryption(keysOf('k1'));

/** A gateway with one account in its file, which does not affect any test. */
const onlyFile = gatewayWith([sampleAccount('messages', 'of-file')]);

function accountOf(id: string, credential = bearer(`secret of ${id}`)): AccountConfig {
  const [pool = '', name = ''] = id.split('/');
  return { pool, name, credential, models: undefined, maxConcurrency: undefined, state: 'active' };
}

function bearer(secret: string): Credential {
  return { kind: 'bearer', secret: new Secret(secret) };
}

async function brokerOn(
  database: GatewayDatabase,
  {
    keys = keysOf('k1'),
    gateway = onlyFile,
  }: { readonly keys?: readonly EncryptionKey[]; readonly gateway?: GatewayConfig } = {},
) {
  const metrics = new Metrics();
  const runtime = { logger: createLogger('test', 'silent'), metrics };
  const credentials = { ...settings, keys };
  const store = new MemoryPoolStore();
  const service = createPoolBrokerService({ gateway, credentials }, runtime, { store, database });
  await service.start();
  onTestFinished(() => service[Symbol.asyncDispose]());
  const [pools, secrets] = [directClient(service.routes[0]), directClient(service.credentialRoutes[0])];
  return {
    states: async () => {
      const { accounts } = await pools.listAccounts({});
      const used = accounts.filter(({ note }) => !note.startsWith('Not used: '));
      return used.map(({ id, state }) => `${id} ${AccountState[state]}`).toSorted();
    },
    /** Why accounts are unused, by name. */
    unused: async () => {
      const { accounts } = await pools.listAccounts({});
      const texts = accounts.flatMap(({ id, note }) => (note.startsWith('Not used: ') ? [[id, note]] : []));
      return Object.fromEntries(texts) as Record<string, string>;
    },
    secretOf: async (id: string) => {
      const { secret } = await secrets.getCredential({ target: { case: 'accountId', value: id } });
      return secret.value;
    },
    refused: async () =>
      [...(await metrics.exposition()).matchAll(/^gateway_accounts_refused\{reason="(\w+)"\} ([1-9]\d*)$/gm)].map(
        ([, reason, count]) => `${reason} ${count}`,
      ),
  };
}

const databases = ['SQLite', 'Postgres'] as const;

describe.each(databases)('accounts in %s', (kind) => {
  it('are used beside those of gateway.yaml from the start', async () => {
    const database = await databaseOfTest(kind);
    await new AccountTable(database).add(
      { ...accountOf('responses/a'), models: ['gpt-*'], maxConcurrency: 3 },
      encryption,
    );
    const broker = await brokerOn(database);
    expect(await broker.states()).toEqual(['messages/of-file AVAILABLE', 'responses/a AVAILABLE']);
    expect(await broker.secretOf('responses/a')).toBe('secret of responses/a');
    expect((await new AccountTable(database).list())[0]).toMatchObject({
      models: '["gpt-*"]',
      max_concurrency: 3,
    });
  });

  it('come, change and go while the gateway runs', async () => {
    const database = await databaseOfTest(kind);
    const table = new AccountTable(database);
    const broker = await brokerOn(database);
    const stateOfA = async () => (await broker.states()).find((text) => text.startsWith('responses/a'));
    await table.add(accountOf('responses/a'), encryption);
    await expect.poll(stateOfA).toBe('responses/a AVAILABLE');
    await table.setState('responses/a', 'disabled');
    await expect.poll(stateOfA).toBe('responses/a DISABLED');
    await expect(broker.secretOf('responses/a')).rejects.toThrow(/does not exist, or is not/);
    await table.setState('responses/a', 'active');
    await expect.poll(stateOfA).toBe('responses/a AVAILABLE');
    await table.remove('responses/a');
    // As long as requests that use the account may run.
    await expect.poll(stateOfA).toBe('responses/a DRAINING');
  });

  it('are refused one by one and counted, whatever was done to their rows', async () => {
    const database = await databaseOfTest(kind);
    const table = new AccountTable(database);
    for (const name of ['good', 'swapped-1', 'swapped-2', 'changed', 'moved', 'garbage', 'other-key', 'odd-models']) {
      await table.add(accountOf(`responses/${name}`), encryption);
    }
    await table.add(accountOf('messages/of-file'), encryption);
    await table.add(accountOf('nowhere/a'), encryption);
    const change = (id: string, set: Record<string, string>) =>
      database.updateTable('accounts').set(set).where('account_id', '=', `responses/${id}`).execute();
    const textOf = async (id: string) =>
      (await table.list()).find((account) => account.account_id === `responses/${id}`)?.credential ?? expect.fail();
    const [one, two] = [await textOf('swapped-1'), await textOf('swapped-2')];
    await change('swapped-1', { credential: two });
    await change('swapped-2', { credential: one });
    await change('changed', { credential: `${(await textOf('changed')).slice(0, -2)}AA` });
    await change('moved', { name: 'elsewhere' });
    await change('garbage', { credential: '' });
    await change('other-key', { key_id: 'k9' });
    await change('odd-models', { models: 'none' });
    const broker = await brokerOn(database);
    expect(await broker.states()).toEqual([
      'messages/of-file AVAILABLE',
      'responses/good AVAILABLE',
      'responses/odd-models AVAILABLE',
    ]);
    expect(await broker.secretOf('responses/good')).toBe('secret of responses/good');
    expect(await broker.secretOf('messages/of-file')).toBe('secret-of-messages-of-file');
    expect(await broker.refused()).toEqual(['unknown_key 1', 'damaged 5', 'unknown_pool 1', 'name_in_file 1']);
    // Each is listed with the reason, except the one whose name is already taken.
    expect(await broker.unused()).toEqual({
      ...Object.fromEntries(
        ['swapped-1', 'swapped-2', 'changed', 'moved', 'garbage'].map((name) => [
          `responses/${name}`,
          expect.stringContaining('its database row was changed'),
        ]),
      ),
      'responses/other-key': expect.stringContaining('ACCOUNT_KEYS'),
      'nowhere/a': expect.stringContaining('no such pool'),
    });
  });

  it('are all refused without a key, and the others work on', async () => {
    const database = await databaseOfTest(kind);
    await new AccountTable(database).add(accountOf('responses/a'), encryption);
    const broker = await brokerOn(database, { keys: [] });
    expect(await broker.states()).toEqual(['messages/of-file AVAILABLE']);
    expect(await broker.refused()).toEqual(['unknown_key 1']);
  });

  it('have one name each', async () => {
    const database = await databaseOfTest(kind);
    const table = new AccountTable(database);
    expect(await table.add(accountOf('responses/a', bearer('canary')), encryption)).toBe(true);
    expect(await table.add(accountOf('responses/a'), encryption)).toBe(false);
    expect(await table.setState('responses/b', 'disabled')).toBeUndefined();
    expect(await table.setState('responses/a', 'draining')).toEqual({ before: 'active', now: 'draining' });
    expect(await table.remove('responses/a')).toBe(true);
    expect(await table.remove('responses/a')).toBe(false);
  });

  it('whose refresh token was refused get another try when they are enabled', async () => {
    await using simulator = await startSimulator();
    const database = await databaseOfTest(kind);
    const table = new AccountTable(database);
    const refreshToken = new Secret(simulator.oauth.grant('a'));
    const tokenUrl = `${simulator.url}/oauth/token`;
    const oauth = {
      kind: 'oauth',
      tokenUrl,
      clientId: 'c',
      clientSecret: undefined,
      refreshToken,
      scopes: [],
    } as const;
    await table.add(accountOf('responses/a', oauth), encryption);
    const refusal = { kind: 'status' as const, status: 400, body: { error: 'invalid_grant' } };
    simulator.faults.add({ path: '/oauth/token', times: 1, fault: refusal });
    const broker = await brokerOn(database);
    const stateOfA = async () => (await broker.states()).find((text) => text.startsWith('responses/a'));
    await expect.poll(stateOfA).toBe('responses/a DISABLED');
    await table.setState('responses/a', 'active');
    await expect.poll(stateOfA).toBe('responses/a AVAILABLE');
    expect(await broker.secretOf('responses/a')).toMatch(/^sim_at_/);
  });
});

describe.each(databases)('rotating keys in %s', (kind) => {
  const all = async (database: GatewayDatabase, encryption: Encryption) => {
    const steps = await Array.fromAsync(rotateKeys(database, encryption));
    return steps.at(-1) ?? expect.fail();
  };

  it('encrypts everything with the first key, reports how far it is, and keeps what it cannot decrypt', async () => {
    const database = await databaseOfTest(kind);
    const table = new AccountTable(database);
    for (const name of ['a', 'b', 'c']) await table.add(accountOf(`responses/${name}`), encryption);
    await database.updateTable('accounts').set({ key_id: 'lost' }).where('account_id', '=', 'responses/c').execute();
    const steps = await Array.fromAsync(rotateKeys(database, new Encryption(keysOf('k2', 'k1'))));
    expect(steps.map(({ total, done }) => [total, done])).toEqual([
      [3, 0],
      [3, 1],
      [3, 2],
      [3, 2],
    ]);
    expect(steps.at(-1)?.refused).toEqual(['responses/c (credential)']);
    const broker = await brokerOn(database, { keys: keysOf('k2') });
    expect(await broker.secretOf('responses/b')).toBe('secret of responses/b');
    expect(await all(database, new Encryption(keysOf('k2', 'k1')))).toMatchObject({ total: 3, done: 2 });
  });

  it('loses no token that is refreshed meanwhile', async () => {
    await using simulator = await startSimulator({ oauth: { accessTokenSeconds: 1 } });
    const database = await databaseOfTest(kind);
    const credential: Credential = {
      kind: 'oauth',
      tokenUrl: `${simulator.url}/oauth/token`,
      clientId: 'c',
      clientSecret: undefined,
      refreshToken: new Secret(simulator.oauth.grant('a')),
      scopes: [],
    };
    await new AccountTable(database).add(accountOf('responses/a', credential), encryption);
    const broker = await brokerOn(database, { keys: keysOf('k1', 'k2') });
    const endsAtMs = performance.now() + 3_000;
    const asking = async () => {
      while (performance.now() < endsAtMs) {
        expect(await broker.secretOf('responses/a')).toMatch(/^sim_at_/);
        await sleep(5);
      }
    };
    const rotating = async () => {
      for (let n = 0; performance.now() < endsAtMs; n++) {
        const [first = '', second = ''] = n % 2 === 0 ? ['k2', 'k1'] : ['k1', 'k2'];
        expect((await all(database, new Encryption(keysOf(first, second)))).refused).toEqual([]);
        await sleep(1);
      }
    };
    await Promise.all([asking(), rotating()]);
    expect(simulator.oauth.families()).toMatchObject([{ reuses: 0, revoked: false }]);
    expect(simulator.oauth.families()[0]?.refreshes).toBeGreaterThanOrEqual(3);
  });
});
