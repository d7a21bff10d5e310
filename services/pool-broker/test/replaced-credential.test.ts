import { randomUUID } from 'node:crypto';
import { Secret } from '@gateway/config';
import { AccountState, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { testBackends } from '@gateway/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { gatewayWith, sampleAccount } from '../src/__fixtures__/sample-gateway.ts';
import { createPoolBrokerService } from '../src/service.ts';
import { withFallback } from '../src/store/fallback-pool-store.ts';
import { MemoryPoolStore } from '../src/store/memory-pool-store.ts';
import type { PoolStore } from '../src/store/pool-store.ts';
import { openRedisPoolStore } from '../src/store/redis-pool-store.ts';
import { redisAt } from './redis-at.ts';

/** Opens the same state at each start of a broker. */
type Opening = () => Promise<PoolStore>;

async function memory(): Promise<Opening> {
  const store = new MemoryPoolStore();
  return async () => store;
}

async function redis(): Promise<Opening> {
  const { redisUrl } = await testBackends();
  const keyPrefix = `test-${randomUUID()}:`;
  const options = { settings: redisAt(redisUrl), keyPrefix };
  return async () => {
    const store = await openRedisPoolStore({ ...options, metrics: new Metrics() });
    onTestFinished(() => store[Symbol.asyncDispose]());
    return withFallback(store, () => undefined);
  };
}

/** A broker that has just started, with this key for its only account. */
async function brokerWith(key: string, open: Opening) {
  const account = sampleAccount('responses', 'a', { credential: { kind: 'bearer', secret: new Secret(key) } });
  const logger = createLogger('test', 'silent');
  const warn = vi.spyOn(logger, 'warn');
  const runtime = { logger, metrics: new Metrics() };
  const service = createPoolBrokerService({ gateway: gatewayWith([account]) }, runtime, { store: await open() });
  onTestFinished(() => service[Symbol.asyncDispose]());
  await service.start();
  const pools = directClient(service.routes[0]);
  const acquire = async () => (await pools.acquire({ model: 'gpt-5.5' })).result;
  return {
    acquire,
    warnings: () => warn.mock.calls,
    async beRefused() {
      const result = await acquire();
      const lease = result.case === 'lease' ? result.value : expect.fail(`no lease but ${result.case}`);
      await pools.report({ attempt: { lease, report: { result: AttemptResult.UNAUTHORIZED, upstreamStatus: 401 } } });
    },
    account: async () => (await pools.listAccounts({})).accounts[0],
  };
}

describe.each([
  ['this process', memory],
  ['Redis', redis],
])('a pause after a refused credential, kept in %s', (_where, opened) => {
  it('outlives a restart with that credential, and ends with one that has another', async () => {
    const open = await opened();
    await (await brokerWith('sk-refused', open)).beRefused();
    const same = await brokerWith('sk-refused', open);
    expect((await same.acquire()).case).toBe('unavailable');
    expect(await same.account()).toMatchObject({ state: AccountState.COOLING });
    const replaced = await brokerWith('sk-good', open);
    const account = await replaced.account();
    expect(account).toMatchObject({ state: AccountState.AVAILABLE, cooldowns: [] });
    expect(account?.lastError).toBeUndefined();
    expect((await replaced.acquire()).case).toBe('lease');
  });

  it('is in the log once, with the account, the status and the place to look, but without the key', async () => {
    const open = await opened();
    const broker = await brokerWith('sk-refused', open);
    await broker.beRefused();
    expect(broker.warnings()).toEqual([
      [{ account: 'responses/a', status: 401 }, expect.stringMatching(/refuses the key.*accounts\.md#replace-a-key$/)],
    ]);
    const replaced = await brokerWith('sk-wrong', open);
    await replaced.beRefused();
    expect(replaced.warnings()).toHaveLength(1);
    expect(JSON.stringify([broker.warnings(), replaced.warnings()])).not.toContain('sk-');
  });

  it('starts anew when the other credential is refused too', async () => {
    const open = await opened();
    await (await brokerWith('sk-refused', open)).beRefused();
    const replaced = await brokerWith('sk-wrong', open);
    await replaced.beRefused();
    expect((await replaced.acquire()).case).toBe('unavailable');
    expect(await replaced.account()).toMatchObject({ state: AccountState.COOLING, lastError: { inARow: 1 } });
  });
});
