import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  AccountProblem,
  AccountState,
  AccountUse,
  AttemptResult,
  type AttemptSchema,
  type Lease,
} from '@gateway/proto/pool/v1/account_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { startRedis, type TestServer, testBackends } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { monotonicMs } from '@gateway/time';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gatewayWith, sampleAccount, sampleSettings } from '../src/__fixtures__/sample-gateway.ts';
import { createPoolBrokerService } from '../src/service.ts';
import { withFallback } from '../src/store/fallback-pool-store.ts';
import { openRedisPoolStore } from '../src/store/redis-pool-store.ts';
import { timeOfRedis } from './__fixtures__/time-of-redis.ts';
import { redisAt } from './redis-at.ts';

type Attempt = MessageInitShape<typeof AttemptSchema>;

interface Shared {
  readonly redisUrl: string;
  /** The machine of each replica. Default: this one. */
  readonly machines?: readonly Machine[];
  readonly caps: readonly number[];
}

/** Runs something on another machine. */
type Machine = <T>(run: () => T) => T;

/** Replicas of the broker, each with its own connection to one Redis. */
async function replicasOf(count: number, { redisUrl, machines = [], caps }: Shared) {
  const keyPrefix = `test-${randomUUID()}:`;
  const accounts = caps.map((maxConcurrency, n) => sampleAccount('responses', `a${n}`, { maxConcurrency }));
  const gateway = gatewayWith(accounts);
  return Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const on: Machine = machines[n] ?? ((run) => run());
      const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
      const options = { settings: redisAt(redisUrl), metrics: runtime.metrics };
      const redis = await on(() => openRedisPoolStore({ ...options, keyPrefix }));
      onTestFinished(() => redis[Symbol.asyncDispose]());
      const store = withFallback(redis, () => undefined);
      const { routes } = on(() => createPoolBrokerService({ gateway }, runtime, { store }));
      const client = { ...directClient(routes[0]), ...directClient(routes[1]) };
      return new Proxy(client, {
        get: (target, name) => {
          const call: unknown = Reflect.get(target, name);
          return typeof call === 'function'
            ? (...given: unknown[]) => on(() => Reflect.apply(call, target, given))
            : call;
        },
      });
    }),
  );
}

type Replica = Awaited<ReturnType<typeof replicasOf>>[number];

async function acquire(pools: Replica, attempts: Attempt[] = [], affinityKey = '') {
  const { result } = await pools.acquire(
    { model: 'gateway/sterk', attempts, affinityKey },
    { timeoutMs: roomMs(20_000) },
  );
  return result;
}

async function leased(pools: Replica, attempts: Attempt[] = [], affinityKey = ''): Promise<Lease> {
  const result = await acquire(pools, attempts, affinityKey);
  return result.case === 'lease' ? result.value : expect.fail(`no lease but ${result.case}`);
}

const ended = (lease: Lease, result: AttemptResult, retryAfterMs?: number) => ({
  lease,
  report: { result, retryAfterMs },
});

describe('three replicas of the broker', () => {
  it('all use an account again whose pause an operator has ended, though its provider named the end', async () => {
    const { redisUrl } = await testBackends();
    const replicas = await replicasOf(3, { redisUrl, caps: [5] });
    const [first = expect.fail(), second = expect.fail(), third = expect.fail()] = replicas;
    const lease = await leased(first);
    const inAnHour = Date.now() + 3_600_000;
    expect((await acquire(second, [ended(lease, AttemptResult.RATE_LIMITED, inAnHour)])).case).toBe('exhausted');
    const { before, account } = await third.setAccountUse({ accountId: lease.accountId, use: AccountUse.ACTIVE });
    expect(before?.cooldowns).toMatchObject([{ givenByProvider: true, reason: AttemptResult.RATE_LIMITED }]);
    expect(account).toMatchObject({ state: AccountState.AVAILABLE, cooldowns: [] });
    for (const replica of replicas) await leased(replica);
  });

  it('never exceed the cap of an account between them, and use every place', async () => {
    const { redisUrl } = await testBackends();
    const caps = [1, 2, 3, 5];
    const replicas = await replicasOf(3, { redisUrl, caps });
    const underWay = new Map<string, number>();
    const most = new Map<string, number>();
    let served = 0;
    const client = async (pools: Replica) => {
      for (let n = 0; n < 25; n++) {
        const result = await acquire(pools);
        if (result.case !== 'lease') {
          expect(result.case).toBe('exhausted');
          await sleep(2);
          continue;
        }
        const lease = result.value;
        const now = (underWay.get(lease.accountId) ?? 0) + 1;
        underWay.set(lease.accountId, now);
        most.set(lease.accountId, Math.max(most.get(lease.accountId) ?? 0, now));
        await sleep(3);
        served += 1;
        // Counted before the broker knows it, because afterwards another request may take the place
        // at once.
        underWay.set(lease.accountId, (underWay.get(lease.accountId) ?? 0) - 1);
        await pools.report({ attempt: ended(lease, AttemptResult.SUCCEEDED) });
      }
    };
    await Promise.all(replicas.flatMap((pools) => Array.from({ length: 12 }, () => client(pools))));
    expect(Object.fromEntries(most)).toEqual(Object.fromEntries(caps.map((cap, n) => [`responses/a${n}`, cap])));
    expect(served).toBeGreaterThan(100);
  });

  it('know at once what one of them has learnt of an account, and where a session stays', async () => {
    const { redisUrl } = await testBackends();
    const time = timeOfRedis();
    const [one, two, three] = await replicasOf(3, { redisUrl, caps: [9, 9] });
    if (one === undefined || two === undefined || three === undefined) return expect.fail('there are three');
    const first = await leased(one, [], 's');
    const second = await leased(two, [ended(first, AttemptResult.RATE_LIMITED, 60_000)], 's');
    expect(second.accountId).not.toBe(first.accountId);
    await three.report({ attempt: ended(second, AttemptResult.SUCCEEDED), affinityKey: 's' });
    for (const pools of [one, two, three]) {
      expect((await leased(pools, [], 's')).accountId).toBe(second.accountId);
      expect((await leased(pools)).accountId).toBe(second.accountId);
    }
    time.advanceMs(60_000);
    for (const pools of [one, two, three]) expect((await leased(pools, [], 's')).accountId).toBe(second.accountId);
    expect((await leased(three)).accountId).toBe(first.accountId);
  });

  it('lease no account that one of them has just learnt is limited', async () => {
    const { redisUrl } = await testBackends();
    const time = timeOfRedis();
    const replicas = await replicasOf(3, { redisUrl, caps: [40, 40, 40, 40] });
    const [one] = replicas;
    if (one === undefined) return expect.fail('there are three');
    const leaseAll = () => Promise.all(replicas.flatMap((pools) => Array.from({ length: 4 }, () => leased(pools))));
    const limited = new Set<string>();
    while (limited.size < 3) {
      const usable = (await leaseAll()).filter(({ accountId }) => !limited.has(accountId));
      expect(usable).toHaveLength(12);
      const lease = usable[0] ?? expect.fail('there are twelve');
      limited.add(lease.accountId);
      await one.report({ attempt: ended(lease, AttemptResult.RATE_LIMITED, 60_000) });
    }
    expect(new Set((await leaseAll()).map(({ accountId }) => accountId)).size).toBe(1);
    time.advanceMs(60_000);
    expect((await leaseAll()).some(({ accountId }) => limited.has(accountId))).toBe(true);
  });

  it('use an account no more that one of them learnt is disabled, until any of them enables it', async () => {
    const { redisUrl } = await testBackends();
    const time = timeOfRedis();
    const replicas = await replicasOf(3, { redisUrl, caps: [500, 500] });
    const [one, two, three] = replicas;
    if (one === undefined || two === undefined || three === undefined) return expect.fail('there are three');
    const { accountId, ...lease } = await leased(one);
    const report = { result: AttemptResult.UNAUTHORIZED, problem: AccountProblem.ACCOUNT_DISABLED };
    await two.report({ attempt: { lease: { ...lease, accountId }, report } });
    for (let day = 0; day < 20; day++) {
      time.advanceMs(86_400_000);
      const leases = await Promise.all(replicas.flatMap((pools) => [leased(pools), leased(pools)]));
      expect(leases.map((other) => other.accountId)).not.toContain(accountId);
    }
    const stateSeenBy = async (pools: Replica) =>
      (await pools.listAccounts({})).accounts.find(({ id }) => id === accountId)?.state;
    expect(await Promise.all(replicas.map(stateSeenBy))).toEqual(Array(3).fill(AccountState.DISABLED));
    await three.setAccountUse({ accountId, use: AccountUse.ACTIVE });
    expect(await Promise.all(replicas.map(stateSeenBy))).toEqual(Array(3).fill(AccountState.AVAILABLE));
    const again = await Promise.all(Array.from({ length: 30 }, () => leased(one)));
    expect(again.map((other) => other.accountId)).toContain(accountId);
  });

  it('send one probe between them, to an account and to a pool that pauses', async () => {
    const { redisUrl } = await testBackends();
    const time = timeOfRedis();
    const replicas = await replicasOf(3, { redisUrl, caps: [50] });
    const [one] = replicas;
    if (one === undefined) return expect.fail('there are three');
    const askAll = async () => {
      const answers = await Promise.all([...replicas, ...replicas, ...replicas].map((pools) => acquire(pools)));
      return answers.flatMap((result) => (result.case === 'lease' ? [result.value] : []));
    };
    await one.report({ attempt: ended(await leased(one), AttemptResult.RATE_LIMITED) });
    expect(await askAll()).toEqual([]);
    time.advanceMs(sampleSettings.rateLimitCooldownMs * 2);
    const [probe, ...others] = await askAll();
    expect(others).toEqual([]);
    if (probe === undefined) return expect.fail('there is no probe');
    await one.report({ attempt: ended(probe, AttemptResult.SUCCEEDED) });
    expect((await askAll()).length).toBe(9);

    time.advanceMs(sampleSettings.leaseTtlMs);
    const overload = async (pools: Replica) =>
      pools.report({ attempt: ended(await leased(pools), AttemptResult.OVERLOADED) });
    for (const pools of [...replicas, ...replicas, ...replicas].slice(1)) {
      await overload(pools);
      time.advanceMs(200);
    }
    expect(await askAll()).toEqual([]);
    time.advanceMs(3_000);
    expect(await askAll()).toHaveLength(1);
  });
});

describe('replicas on machines whose clocks are ten minutes wrong', () => {
  function wrongMachines(): readonly Machine[] {
    const time = new ManualTime(Date.now());
    onTestFinished(() => time[Symbol.dispose]());
    return [0, 600_000, -600_000].map((aheadMs) => (run) => time.ahead(aheadMs, run));
  }

  /** Has this replica report that its account is limited for a while. Returns when it did. */
  async function limit(pools: Replica, forMs: number) {
    const lease = await leased(pools);
    const reportedMs = monotonicMs();
    await pools.report({ attempt: ended(lease, AttemptResult.RATE_LIMITED, forMs) });
    return { lease, reportedMs };
  }

  it.each([0, 1, 2])('all tell the wait that a provider told number %i of them', async (n) => {
    const { redisUrl } = await testBackends();
    const replicas = await replicasOf(3, { redisUrl, machines: wrongMachines(), caps: [5] });
    const { reportedMs } = await limit(replicas[n] ?? expect.fail(), 3_600_000);
    for (const pools of replicas) {
      const result = await acquire(pools);
      const { retryAfterMs = 0 } = result.case === 'exhausted' ? result.value : expect.fail(`${result.case}`);
      expect(retryAfterMs).toBeLessThanOrEqual(3_600_000 + clockErrorMs);
      expect(retryAfterMs).toBeGreaterThanOrEqual(3_600_000 - clockErrorMs - (monotonicMs() - reportedMs));
    }
  });

  it.each([0, 1, 2])('end a pause that number %i of them began when it is over, not before', async (n) => {
    const { redisUrl } = await testBackends();
    const replicas = await replicasOf(3, { redisUrl, machines: wrongMachines(), caps: [50] });
    const { reportedMs } = await limit(replicas[n] ?? expect.fail(), 1_500);
    const endOf = async (pools: Replica) => {
      await expect.poll(async () => (await acquire(pools)).case, { timeout: roomMs(10_000) }).toBe('lease');
      return monotonicMs() - reportedMs;
    };
    for (const endMs of await Promise.all(replicas.map(endOf))) expect(endMs).toBeGreaterThan(1_500 - clockErrorMs);
  });

  it('go on by one clock while Redis is away', async () => {
    const redis: TestServer = await startRedis();
    onTestFinished(() => redis[Symbol.asyncDispose]());
    const replicas = await replicasOf(3, { redisUrl: redis.url, machines: wrongMachines(), caps: [5, 5] });
    const { lease, reportedMs } = await limit(replicas[1] ?? expect.fail(), 60_000);
    for (const pools of replicas) await leased(pools);
    await redis.kill();
    for (const pools of replicas) {
      const given = await leased(pools);
      expect(given.accountId).not.toBe(lease.accountId);
      const result = await acquire(pools, [ended(given, AttemptResult.RATE_LIMITED, 600_000)]);
      const { retryAfterMs = 0 } = result.case === 'exhausted' ? result.value : expect.fail(`${result.case}`);
      expect(retryAfterMs).toBeLessThanOrEqual(60_000 + clockErrorMs);
      expect(retryAfterMs).toBeGreaterThanOrEqual(60_000 - clockErrorMs - (monotonicMs() - reportedMs));
    }
  });
});

/** Each replica knows Redis' time as exactly as an answer of Redis is quick. */
const clockErrorMs = 500;

describe('replicas whose Redis goes away', () => {
  it('go on with what they knew, each within the caps as far as it knows', async () => {
    const redis: TestServer = await startRedis();
    onTestFinished(() => redis[Symbol.asyncDispose]());
    const replicas = await replicasOf(3, { redisUrl: redis.url, caps: [4, 4] });
    const [one] = replicas;
    if (one === undefined) return expect.fail('there are three');
    const limited = await leased(one);
    await one.report({ attempt: ended(limited, AttemptResult.RATE_LIMITED, Date.now() + 3_600_000) });
    for (const pools of replicas) expect((await leased(pools)).accountId).not.toBe(limited.accountId);
    await redis.kill();
    for (const pools of replicas) {
      const answers = await Promise.all(Array.from({ length: 9 }, () => acquire(pools)));
      const given = answers.flatMap((result) => (result.case === 'lease' ? [result.value.accountId] : []));
      expect(given.length).toBeGreaterThan(0);
      expect(given.length).toBeLessThanOrEqual(4);
      expect(given).not.toContain(limited.accountId);
    }
  });
});
