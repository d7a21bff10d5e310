import { setTimeout as sleep } from 'node:timers/promises';
import { type AccountConfig, type GatewayConfig, type OAuthCredential, Secret } from '@gateway/config';
import { GatewayError } from '@gateway/errors';
import { AccountProblem, AccountState, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { GetCredentialResponse } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { directClient } from '@gateway/rpc';
import { type Simulator, type SimulatorOptions, startSimulator } from '@gateway/simulator';
import { createLogger, Metrics } from '@gateway/telemetry';
import { roomMs, roomSeconds } from '@gateway/testkit/room';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gatewayWith, sampleAccount } from '../src/__fixtures__/sample-gateway.ts';
import { readCredentialConfig } from '../src/config.ts';
import { createPoolBrokerService, type PoolBrokerParts } from '../src/service.ts';
import { MemoryPoolStore } from '../src/store/memory-pool-store.ts';
import { databaseOfTest, keysOf, waysToShare } from './__fixtures__/credential-backends.ts';

const credentials = { ...readCredentialConfig({}), keys: keysOf('k1'), pollMs: 100 };
const accountId = 'responses/team-a';

async function simulatorOf(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator(options);
  onTestFinished(() => simulator[Symbol.asyncDispose]());
  return simulator;
}

function oauthAccount({ url }: Simulator, refreshToken: string, rest: Partial<OAuthCredential> = {}): AccountConfig {
  const credential: OAuthCredential = {
    kind: 'oauth',
    tokenUrl: `${url}/oauth/token`,
    clientId: 'gateway',
    clientSecret: undefined,
    refreshToken: new Secret(refreshToken),
    scopes: [],
    ...rest,
  };
  return sampleAccount('responses', 'team-a', { credential });
}

/** A started replica of the broker. */
async function brokerOf(gateway: GatewayConfig, places: Pick<PoolBrokerParts, 'database'>) {
  const metrics = new Metrics();
  const runtime = { logger: createLogger('test', 'silent'), metrics };
  const service = createPoolBrokerService({ gateway, credentials }, runtime, {
    ...places,
    store: new MemoryPoolStore(),
  });
  await service.start();
  let stopped = false;
  const stop = async () => {
    if (!stopped) await service[Symbol.asyncDispose]();
    stopped = true;
  };
  onTestFinished(stop);
  const [[poolRoute], [credentialRoute]] = [service.routes, service.credentialRoutes];
  const [pools, secrets] = [directClient(poolRoute), directClient(credentialRoute)];
  const credential = (refusedVersion = '') =>
    secrets.getCredential(
      { target: { case: 'accountId', value: accountId }, refusedVersion },
      { timeoutMs: roomMs(20_000) },
    );
  const account = async () => {
    const { accounts } = await pools.listAccounts({});
    return accounts.find(({ id }) => id === accountId);
  };
  return { pools, credential, account, stop, metrics };
}

async function statusAt({ url }: Simulator, { secret }: GetCredentialResponse): Promise<number> {
  const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${secret.value}` } });
  return response.status;
}

describe.each(waysToShare)('brokers that share credentials in %s', (kind) => {
  it('refresh an account one at a time, however many ask however often', async () => {
    const simulator = await simulatorOf({
      oauth: { accessTokenSeconds: 2 },
      faults: [{ path: '/oauth/token', fault: { kind: 'delay', beforeHeadersMs: 100 } }],
    });
    const places = { database: await databaseOfTest(kind) };
    const gateway = gatewayWith([oauthAccount(simulator, simulator.oauth.grant('team-a'))]);
    const brokers = await Promise.all([1, 2, 3].map(() => brokerOf(gateway, places)));
    const endsAtMs = performance.now() + 7_000;
    let answers = 0;
    const ask = async ({ credential }: (typeof brokers)[number]) => {
      while (performance.now() < endsAtMs) {
        const askedAtMs = performance.now();
        const status = await statusAt(simulator, await credential());
        // A token is valid for at least a tenth of its lifetime, which may pass on a busy machine.
        if (performance.now() - askedAtMs < 200) expect(status).toBe(200);
        if (status === 200) answers++;
        await sleep(5);
      }
    };
    await Promise.all(brokers.flatMap((broker) => [ask(broker), ask(broker), ask(broker)]));
    const [family = expect.fail()] = simulator.oauth.families();
    expect(family).toMatchObject({ revoked: false, reuses: 0, mostAtOnce: 1 });
    // Once in about 1.5 seconds, not once for each broker.
    expect(family.refreshes).toBeGreaterThanOrEqual(4);
    expect(family.refreshes).toBeLessThanOrEqual(8);
    expect(answers).toBeGreaterThan(300);
  });

  it('replace a token that the provider refuses once, whichever replica noticed', async () => {
    using time = new ManualTime(Date.now());
    const simulator = await simulatorOf();
    const places = { database: await databaseOfTest(kind) };
    const gateway = gatewayWith([oauthAccount(simulator, simulator.oauth.grant('team-a'))]);
    const [one, other] = [await brokerOf(gateway, places), await brokerOf(gateway, places)];
    const first = await one.credential();
    expect(await other.credential()).toMatchObject({ secret: first.secret, version: first.version });
    time.advanceMs(60_000);
    simulator.oauth.expire('team-a');
    const fresh = await Promise.all([one, other, one, other].map(({ credential }) => credential(first.version)));
    expect(new Set(fresh.map(({ version }) => version)).size).toBe(1);
    expect(await statusAt(simulator, fresh[0] ?? expect.fail())).toBe(200);
    // If the new token is refused at once, yet another one would not help.
    simulator.oauth.expire('team-a');
    const { version = '' } = fresh[0] ?? {};
    expect((await one.credential(version)).version).toBe(version);
    expect(simulator.oauth.families()).toMatchObject([{ refreshes: 2, reuses: 0, mostAtOnce: 1 }]);
  });

  it('go on with the tokens of those before them, not with the configured one', async () => {
    const simulator = await simulatorOf();
    const places = { database: await databaseOfTest(kind) };
    const gateway = gatewayWith([oauthAccount(simulator, simulator.oauth.grant('team-a'))]);
    const before = await brokerOf(gateway, places);
    const { version } = await before.credential();
    await before.stop();
    const after = await brokerOf(gateway, places);
    expect((await after.credential()).version).toBe(version);
    simulator.oauth.expire('team-a');
    expect(simulator.oauth.families()).toMatchObject([{ refreshes: 1, reuses: 0, revoked: false }]);
  });

  it('disable an account whose refresh token the provider took back, and say why', async () => {
    const simulator = await simulatorOf();
    const places = { database: await databaseOfTest(kind) };
    const gateway = gatewayWith([
      oauthAccount(simulator, simulator.oauth.grant('team-a')),
      sampleAccount('responses', 'b'),
    ]);
    simulator.oauth.revoke('team-a');
    const [one, other] = [await brokerOf(gateway, places), await brokerOf(gateway, places)];
    await expect(one.credential()).rejects.toThrow(GatewayError);
    for (const broker of [one, other]) {
      await expect.poll(broker.account).toMatchObject({ state: AccountState.DISABLED });
      expect((await broker.account())?.note).toMatch(/rejects the refresh token/);
    }
    expect(simulator.requests({ path: '/oauth/token' })).toHaveLength(1);
  });

  it('are replaced by another refresh token in the configuration, while other replicas still have the old one', async () => {
    const simulator = await simulatorOf();
    const places = { database: await databaseOfTest(kind) };
    const [old, next] = [simulator.oauth.grant('old'), simulator.oauth.grant('new')];
    const one = await brokerOf(gatewayWith([oauthAccount(simulator, old)]), places);
    await one.credential();
    const other = await brokerOf(gatewayWith([oauthAccount(simulator, next)]), places);
    const { version } = await other.credential();
    expect((await one.credential()).version).not.toBe(version);
    await other.stop();
    const again = await brokerOf(gatewayWith([oauthAccount(simulator, next)]), places);
    expect((await again.credential()).version).toBe(version);
    expect(simulator.oauth.families()).toMatchObject([
      { account: 'old', refreshes: 1, reuses: 0 },
      { account: 'new', refreshes: 1, reuses: 0 },
    ]);
  });

  it('keep the old token as long as it lives while the token endpoint fails', async () => {
    const livesSeconds = roomSeconds(4);
    const simulator = await simulatorOf({ oauth: { accessTokenSeconds: livesSeconds } });
    const places = { database: await databaseOfTest(kind) };
    const gateway = gatewayWith([oauthAccount(simulator, simulator.oauth.grant('team-a'))]);
    const broker = await brokerOf(gateway, places);
    const first = await broker.credential();
    simulator.faults.add({ path: '/oauth/token', fault: { kind: 'status', status: 503 } });
    await sleep(825 * livesSeconds);
    expect((await broker.credential()).version).toBe(first.version);
    await sleep(175 * livesSeconds);
    await expect(broker.credential()).rejects.toThrow(/could not be refreshed/);
    expect(await broker.account()).toMatchObject({ state: AccountState.AVAILABLE });
    simulator.faults.clear();
    await expect.poll(() => broker.credential().catch(() => undefined)).toBeDefined();
    expect(simulator.requests({ path: '/oauth/token', outcome: 'faulted' }).length).toBeLessThanOrEqual(livesSeconds);
    expect(simulator.oauth.families()).toMatchObject([{ reuses: 0, revoked: false }]);
  });
});

describe('an account that was refused', () => {
  it('is out of service for what it is authenticated with now, not for what was sent before', async () => {
    using time = new ManualTime(Date.now());
    const simulator = await simulatorOf();
    const gateway = gatewayWith([oauthAccount(simulator, simulator.oauth.grant('team-a'))]);
    const { pools, credential, account } = await brokerOf(gateway, {});
    const leased = async () => {
      time.advanceMs(1);
      const { result } = await pools.acquire({ model: 'gpt-5.5', allowCandidateFailover: true });
      return result.case === 'lease' ? result.value : expect.fail('there is no lease');
    };
    const revoked = { result: AttemptResult.UNAUTHORIZED, problem: AccountProblem.CREDENTIAL_REVOKED };
    const { version } = await credential();
    const [early, other] = [await leased(), await leased()];
    time.advanceMs(60_000);
    simulator.oauth.expire('team-a');
    expect((await credential(version)).version).not.toBe(version);
    await pools.report({ attempt: { lease: early, report: revoked } });
    await pools.report({ attempt: { lease: other, report: { result: AttemptResult.UNAUTHORIZED } } });
    expect(await account()).toMatchObject({ state: AccountState.AVAILABLE });
    await pools.report({ attempt: { lease: await leased(), report: revoked } });
    expect(await account()).toMatchObject({ state: AccountState.DISABLED });
  });
});
