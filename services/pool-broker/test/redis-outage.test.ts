import { AttemptResult, type Lease } from '@gateway/proto/pool/v1/account_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { startRedis, type TestServer } from '@gateway/testkit';
import { startRedisCluster, startRedisSentinels } from '@gateway/testkit/redis-groups';
import { roomMs } from '@gateway/testkit/room';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { sampleGateway } from '../src/__fixtures__/sample-gateway.ts';
import { createPoolBrokerService } from '../src/service.ts';
import { openSharedPoolStore } from '../src/store/fallback-pool-store.ts';
import { redisAt } from './redis-at.ts';

let redis: TestServer;
beforeEach(async () => {
  redis = await startRedis();
  return () => redis[Symbol.asyncDispose]();
});

async function brokerOf(settings = redisAt(redis.url), logger = createLogger('test', 'silent')) {
  const runtime = { logger, metrics: new Metrics() };
  const store = await openSharedPoolStore(settings, runtime);
  onTestFinished(() => store[Symbol.asyncDispose]());
  const service = createPoolBrokerService({ gateway: sampleGateway }, runtime, { store });
  const pools = directClient(service.routes[0]);
  const acquire = async (attempts: { lease: Lease; report: { result: AttemptResult } }[] = []) => {
    const request = { model: 'gateway/sterk', affinityKey: 's', attempts, allowCandidateFailover: true };
    const { result } = await pools.acquire(request, { timeoutMs: roomMs(10_000) });
    return result.case === 'lease' ? result.value : expect.fail(`no lease but ${result.case}`);
  };
  const fail = (lease: Lease, result: AttemptResult) => ({ lease, report: { result } });
  return { pools, acquire, fail };
}

const goneIn: readonly (readonly [string, (server: TestServer) => Promise<void>])[] = [
  ['is frozen', (server) => server.pause()],
  ['has crashed', (server) => server.kill()],
];

describe.each(goneIn)('a broker whose Redis %s', (_how, takeAway) => {
  it('goes on with what it knows, and learns on', async () => {
    const { acquire, fail, pools } = await brokerOf();
    const first = await acquire();
    const second = await acquire([fail(first, AttemptResult.RATE_LIMITED)]);
    await takeAway(redis);
    const third = await acquire();
    expect(third.accountId).toBe(second.accountId);
    const fourth = await acquire([fail(third, AttemptResult.RATE_LIMITED)]);
    expect(fourth.pool).toBe('messages');
    await pools.report(
      { attempt: fail(fourth, AttemptResult.SUCCEEDED), affinityKey: 's' },
      { timeoutMs: roomMs(10_000) },
    );
    await pools.reportModels(
      { pool: 'messages', reachable: true, models: [{ id: 'm' }] },
      { timeoutMs: roomMs(10_000) },
    );
    expect((await pools.listModels({})).models.map(({ id }) => id)).toContain('m');
  });
});

describe('a broker without its Redis', () => {
  it('logs the reason once, without a stack', async () => {
    await redis.stop();
    const logger = createLogger('test', 'silent');
    const warn = vi.spyOn(logger, 'warn');
    const { acquire } = await brokerOf(redisAt(redis.url), logger);
    const said = () => warn.mock.calls.filter(([, text]) => text?.startsWith('Redis does not answer'));
    await expect.poll(() => acquire().then(() => said().length)).toBe(1);
    for (let n = 0; n < 20; n++) await acquire();
    expect(said()).toEqual([[{ reason: expect.any(String) }, expect.any(String)]]);
  });
});

describe('a broker whose Redis comes back', () => {
  it('shares with other replicas what it learnt meanwhile', async () => {
    const [one, other] = [await brokerOf(), await brokerOf()];
    await redis.pause();
    const lease = await one.acquire();
    await one.acquire([one.fail(lease, AttemptResult.UNAUTHORIZED)]);
    await redis.resume();
    await expect
      .poll(async () => {
        await one.pools.listAccounts({});
        const { accounts } = await other.pools.listAccounts({});
        return accounts.find(({ id }) => id === lease.accountId)?.cooldowns.map(({ reason }) => reason);
      })
      .toEqual([AttemptResult.UNAUTHORIZED]);
  });
});

describe('a broker that starts before its Redis', () => {
  it('serves, and uses Redis once that is there', async () => {
    await redis.stop();
    const one = await brokerOf();
    const lease = await one.acquire();
    expect(lease.pool).toBe('responses');
    await redis.restart();
    const other = await brokerOf();
    await expect
      .poll(async () => {
        await one.acquire();
        const { accounts } = await other.pools.listAccounts({});
        return accounts.some(({ inFlight }) => inFlight > 0);
      })
      .toBe(true);
  });
});

describe.each([
  ['Sentinels', startRedisSentinels],
  ['a Redis Cluster', startRedisCluster],
])('brokers whose master is replaced, by %s', (_kind, start) => {
  it('serve meanwhile, and share by the new one what they learnt', async () => {
    const group = await start({ silenceMs: 1_000 });
    onTestFinished(() => group[Symbol.asyncDispose]());
    const settings = redisAt(group.url, group.env);
    const [one, other] = [await brokerOf(settings), await brokerOf(settings)];
    const lease = await one.acquire();
    const victim = await group.masterOf(lease.pool);
    await victim.kill();
    for (let n = 0; n < 20; n++) await one.acquire();
    await one.acquire([one.fail(lease, AttemptResult.UNAUTHORIZED)]);
    await expect.poll(async () => (await group.masterOf(lease.pool)) !== victim).toBe(true);
    await expect
      .poll(async () => {
        await one.pools.listAccounts({});
        const { accounts } = await other.pools.listAccounts({});
        return accounts.find(({ id }) => id === lease.accountId)?.cooldowns.map(({ reason }) => reason);
      })
      .toEqual([AttemptResult.UNAUTHORIZED]);
  });
});
