import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import { loadGatewayFile } from '@gateway/config';
import { AccountProblem, AccountState, AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createPoolBrokerService } from '../service.ts';
import { MemoryPoolStore } from '../store/memory-pool-store.ts';

interface FileText {
  readonly accounts?: readonly string[];
  readonly pools?: string;
  readonly classes?: string;
  readonly settings?: string;
}

const responsesPool = 'responses: { format: responses, owned_by: a, base_url: "http://127.0.0.1:1/v1" }';
const bothPools = `${responsesPool}, messages: { format: messages, owned_by: b, base_url: "http://127.0.0.1:2/v1" }`;
const sterk = (candidate: string) => `sterk: { name: Sterk, effort: high, candidates: [${candidate}] }`;
const account = (name: string, more = '') =>
  `{ pool: responses, name: ${name}, credential: { bearer: "\${KEY}" }${more} }`;

function textOf({
  accounts = [account('a')],
  pools = bothPools,
  classes = sterk('responses/gpt-5.5'),
  settings = '',
}: FileText) {
  const list = accounts.map((one) => `  - ${one}\n`).join('');
  return `pools: { ${pools} }\naccounts:\n${list}classes: { ${classes} }\nsettings: { ${settings} }\n`;
}

/** A broker that uses a gateway.yaml. */
async function brokerOn(first: FileText) {
  const folder = mkdtempSync(join(tmpdir(), 'reload-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'gateway.yaml');
  const env = { KEY: 'first-key', OTHER_KEY: 'other-key' };
  const writeText = (text: string) => {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  writeText(textOf(first));

  const metrics = new Metrics();
  const service = createPoolBrokerService(
    { gateway: loadGatewayFile(path, env) },
    { logger: createLogger('test', 'silent'), metrics },
    { store: new MemoryPoolStore() },
  );
  onTestFinished(() => service[Symbol.asyncDispose]());
  await service.start();
  const [[poolRoute], [credentialRoute]] = [service.routes, service.credentialRoutes];
  const pools = directClient(poolRoute);
  const credentials = directClient(credentialRoute);

  const metricValue = async (metric: string) => {
    const line = (await metrics.exposition()).split('\n').find((candidate) => candidate.startsWith(`${metric} `));
    return Number(line?.slice(metric.length + 1));
  };
  const reloads = (result: 'applied' | 'refused') =>
    metricValue(`gateway_configuration_reloads_total{result="${result}"}`);
  /** Writes the file and waits until the broker has read it. */
  const writeAndWait = async (text: string, result: 'applied' | 'refused') => {
    const before = await reloads(result);
    writeText(text);
    await expect.poll(() => reloads(result)).toBe(before + 1);
  };

  return {
    service,
    pools,
    env,
    metricValue,
    reloads,
    write: (file: FileText) => writeText(textOf(file)),
    change: (file: FileText) => writeAndWait(textOf(file), 'applied'),
    refuse: (text: string) => writeAndWait(text, 'refused'),
    hangUp: () => process.emit('SIGHUP', 'SIGHUP'),
    acquire: async (model = 'gateway/sterk') => (await pools.acquire({ model, allowCandidateFailover: true })).result,
    finish: (lease: Lease, result = AttemptResult.SUCCEEDED, problem = AccountProblem.UNSPECIFIED) =>
      pools.report({ attempt: { lease, report: { result, problem } } }),
    credentialOf: (accountId: string) => credentials.getCredential({ target: { case: 'accountId', value: accountId } }),
    accounts: async () =>
      (await pools.listAccounts({})).accounts.map(({ id, state, inFlight }) => [id, state, inFlight] as const),
  };
}

type Acquired = Awaited<ReturnType<Awaited<ReturnType<typeof brokerOn>>['acquire']>>;

function leaseOf(result: Acquired): Lease {
  return result.case === 'lease' ? result.value : expect.fail(`no lease but ${result.case}`);
}

describe('a gateway.yaml that changes while the gateway runs', () => {
  it('adds, drains and removes accounts; their leases go on', async () => {
    const { acquire, finish, change, credentialOf, accounts } = await brokerOn({ accounts: [account('a')] });
    const lease = leaseOf(await acquire());
    expect(lease.accountId).toBe('responses/a');

    await change({ accounts: [account('a', ', drain: true'), account('b')] });
    const later = await Promise.all([acquire(), acquire(), acquire()]);
    expect(later.map((result) => leaseOf(result).accountId)).toEqual(['responses/b', 'responses/b', 'responses/b']);

    await change({ accounts: [account('b')] });
    expect(leaseOf(await acquire()).accountId).toBe('responses/b');
    expect(await accounts()).toContainEqual(['responses/a', AccountState.DRAINING, 1]);
    expect(await credentialOf(lease.accountId)).toMatchObject({ baseUrl: 'http://127.0.0.1:1/v1' });
    await finish(lease);
    expect(await accounts()).toContainEqual(['responses/a', AccountState.DRAINING, 0]);
  });

  it('gives accounts other credentials, and those that had been refused another chance', async () => {
    const { acquire, finish, change, credentialOf } = await brokerOn({});
    await finish(leaseOf(await acquire()), AttemptResult.UNAUTHORIZED);
    expect((await acquire()).case).toBe('unavailable');
    await change({ accounts: [`{ pool: responses, name: a, credential: { api_key: "\${OTHER_KEY}" } }`] });
    expect((await credentialOf('responses/a')).secret).toEqual({ case: 'apiKey', value: 'other-key' });
    expect(leaseOf(await acquire()).accountId).toBe('responses/a');
  });

  it.each(['UNAUTHORIZED', 'SERVER_ERROR', 'NETWORK_ERROR'] as const)(
    'forgets the failures of a pool that gets another address, such as %s',
    async (result) => {
      const { acquire, finish, change, pools } = await brokerOn({});
      await finish(leaseOf(await acquire()), AttemptResult[result]);
      const lastError = async () => (await pools.listAccounts({})).accounts[0]?.lastError?.result;
      expect(await lastError()).toBe(AttemptResult[result]);
      await change({ pools: bothPools.replace('127.0.0.1:1', '127.0.0.1:3') });
      await expect.poll(lastError).toBeUndefined();
      expect(leaseOf(await acquire()).accountId).toBe('responses/a');
    },
  );

  it('gives an account that it adds a chance, whatever happened before', async () => {
    const { acquire, finish, change } = await brokerOn({});
    await finish(leaseOf(await acquire()), AttemptResult.UNAUTHORIZED);
    await change({ accounts: [account('b')] });
    await change({ accounts: [account('a')] });
    expect(leaseOf(await acquire()).accountId).toBe('responses/a');
  });

  it('leaves an account that is limited alone when its credential changes', async () => {
    const { acquire, finish, change } = await brokerOn({});
    await finish(leaseOf(await acquire()), AttemptResult.RATE_LIMITED);
    await change({ accounts: [`{ pool: responses, name: a, credential: { bearer: "\${OTHER_KEY}" } }`] });
    expect((await acquire()).case).toBe('exhausted');
  });

  it('gives new requests other candidates', async () => {
    const messages = `{ pool: messages, name: m, credential: { api_key: "\${KEY}" } }`;
    const { acquire, change } = await brokerOn({ accounts: [account('a'), messages] });
    const before = leaseOf(await acquire());
    await change({ accounts: [account('a'), messages], classes: sterk('messages/claude-9') });
    expect(before).toMatchObject({ pool: 'responses', model: 'gpt-5.5' });
    expect(leaseOf(await acquire())).toMatchObject({ pool: 'messages', model: 'claude-9', accountId: 'messages/m' });
  });

  it('gives new requests other traits of their model', async () => {
    const { acquire, change } = await brokerOn({});
    expect(leaseOf(await acquire()).traits).toBeUndefined();
    const withTraits = bothPools.replace(
      'format: responses',
      'format: responses, models: { "gpt-5*": { efforts: [low] } }',
    );
    await change({ pools: withTraits });
    expect(leaseOf(await acquire()).traits?.efforts?.levels).toEqual(['low']);
  });

  it('adds and removes pools; leases of a pool that is gone go on', async () => {
    const { acquire, change, credentialOf, finish } = await brokerOn({ pools: responsesPool });
    expect((await acquire('claude-9')).case).toBe('unknownModel');
    const messages = `{ pool: messages, name: m, credential: { api_key: "\${KEY}" } }`;
    await change({ accounts: [account('a'), messages] });
    const lease = leaseOf(await acquire('claude-9'));
    expect(lease.accountId).toBe('messages/m');
    await change({ pools: responsesPool });
    expect((await acquire('claude-9')).case).toBe('unknownModel');
    expect((await credentialOf(lease.accountId)).baseUrl).toBe('http://127.0.0.1:2/v1');
    await finish(lease);
  });

  it('changes nothing when it cannot be used, says so, and recovers', async () => {
    const { acquire, refuse, change, service, reloads, metricValue } = await brokerOn({});
    expect(await metricValue('gateway_configuration_last_reload_successful')).toBe(1);
    const successAt = await metricValue('gateway_configuration_last_success_timestamp_seconds');
    expect(Math.abs(Date.now() / 1_000 - successAt)).toBeLessThan(60);
    for (const text of [
      'pools: [',
      'pools: {}',
      textOf({ accounts: [] }).replace('accounts:\n', 'accounts: []\n'),
      textOf({ pools: bothPools.replace('format: responses', 'format: messages') }),
      textOf({ accounts: [account('b').replace('KEY', 'NO_SUCH_KEY')] }),
    ]) {
      await refuse(text);
      expect(leaseOf(await acquire()).accountId).toBe('responses/a');
      expect(await service.notReady()).toBeUndefined();
    }
    expect(await reloads('applied')).toBe(0);
    expect(await metricValue('gateway_configuration_last_reload_successful')).toBe(0);
    expect(await metricValue('gateway_configuration_last_success_timestamp_seconds')).toBe(successAt);
    await change({ accounts: [account('b')] });
    expect(leaseOf(await acquire()).accountId).toBe('responses/b');
    expect(await metricValue('gateway_configuration_last_reload_successful')).toBe(1);
  });

  it('is read again on SIGHUP, with what the environment says now', async () => {
    const { env, hangUp, reloads, credentialOf } = await brokerOn({});
    env.KEY = 'second-key';
    hangUp();
    await expect.poll(() => reloads('applied')).toBe(1);
    expect((await credentialOf('responses/a')).secret).toEqual({ case: 'bearer', value: 'second-key' });
  });

  it('brings an account back that its provider had taken out of service, with another credential', async () => {
    const { acquire, finish, change, accounts } = await brokerOn({ accounts: [account('a'), account('b')] });
    const states = async () => Object.fromEntries((await accounts()).map(([id, state]) => [id, state]));
    const lease = leaseOf(await acquire());
    await finish(lease, AttemptResult.UNAUTHORIZED, AccountProblem.ACCOUNT_DISABLED);
    expect(await states()).toMatchObject({ [lease.accountId]: AccountState.DISABLED });
    await change({ accounts: [account('a'), account('b'), account('c')] });
    expect(await states()).toMatchObject({ [lease.accountId]: AccountState.DISABLED });
    const other = (name: string) => account(name).replace('KEY', 'OTHER_KEY');
    await change({ accounts: [other('a'), other('b')] });
    expect(await states()).toMatchObject({ [lease.accountId]: AccountState.AVAILABLE });
  });

  it('keeps an account in service that was refused with the credential before, however late that is reported', async () => {
    const { acquire, finish, change, accounts } = await brokerOn({});
    const [early, late] = [leaseOf(await acquire()), leaseOf(await acquire())];
    await change({ accounts: [`{ pool: responses, name: a, credential: { bearer: "\${OTHER_KEY}" } }`] });
    await finish(early, AttemptResult.UNAUTHORIZED, AccountProblem.CREDENTIAL_REVOKED);
    await finish(late, AttemptResult.UNAUTHORIZED);
    expect(await accounts()).toEqual([['responses/a', AccountState.AVAILABLE, 0]]);
    await finish(leaseOf(await acquire()), AttemptResult.UNAUTHORIZED, AccountProblem.CREDENTIAL_REVOKED);
    expect(await accounts()).toEqual([['responses/a', AccountState.DISABLED, 0]]);
  });

  it('goes by its settings from then on', async () => {
    const { acquire, finish, change, refuse, accounts } = await brokerOn({ accounts: [account('a')] });
    const states = async () => (await accounts()).map(([, state]) => state);
    await change({ accounts: [account('a')], settings: 'rate_limit_cooldown_seconds: 0.05, cooldown_jitter: 0' });
    await finish(leaseOf(await acquire()), AttemptResult.RATE_LIMITED);
    expect((await acquire()).case).toBe('exhausted');
    await expect.poll(states).toEqual([AccountState.AVAILABLE]);

    await refuse(textOf({ accounts: [account('a')], settings: 'rate_limit_cooldown_seconds: 700' }));
    await change({ accounts: [account('a')], settings: 'unauthorized_cooldown_seconds: 300' });
    await finish(leaseOf(await acquire()), AttemptResult.UNAUTHORIZED);
    expect(await states()).toEqual([AccountState.COOLING]);
  });

  it('never fails a request that is under way, nor leases what it took away', async () => {
    const { acquire, finish, write, change, credentialOf, accounts, reloads } = await brokerOn({
      accounts: [account('a'), account('b')],
    });
    let done = false;
    const used = new Set<string>();
    const client = async () => {
      while (!done) {
        const lease = leaseOf(await acquire());
        used.add(lease.accountId);
        await nextTick();
        expect((await credentialOf(lease.accountId)).accountId).toBe(lease.accountId);
        await finish(lease);
      }
    };
    const clients = Promise.all(Array.from({ length: 8 }, client));
    const rounds = [['b', 'c'], ['c', 'a'], ['a'], ['b', 'a', 'c']];
    for (const names of rounds) {
      await change({ accounts: names.map((name) => account(name)) });
      used.clear();
      for (let tick = 0; tick < 200; tick++) await nextTick();
      // The first leases after a change may have been chosen just before it.
      used.clear();
      for (let tick = 0; tick < 200; tick++) await nextTick();
      expect([...used].toSorted()).toEqual(names.map((name) => `responses/${name}`).toSorted());
    }
    for (let n = 0; n < 20; n++) write({ accounts: [account(n % 2 === 0 ? 'b' : 'c')] });
    await expect.poll(() => reloads('applied')).toBeGreaterThan(rounds.length);
    done = true;
    await clients;
    expect(await reloads('refused')).toBe(0);
    expect((await accounts()).map(([, , inFlight]) => inFlight)).toEqual([0, 0, 0]);
  });
});
