import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { RedisSettings } from '@gateway/redis';
import { Metrics } from '@gateway/telemetry';
import { testBackends } from '@gateway/testkit';
import { type RedisGroup, startRedisCluster, startRedisSentinels } from '@gateway/testkit/redis-groups';
import type { ManualTime } from '@gateway/time/simulated';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { type AccountHealth, healthy } from '../src/health/account-health.ts';
import { noIncidents, type PoolHealth } from '../src/health/pool-health.ts';
import { MemoryPoolStore } from '../src/store/memory-pool-store.ts';
import type { NewLease, PoolStore } from '../src/store/pool-store.ts';
import { openRedisPoolStore } from '../src/store/redis-pool-store.ts';
import { timeOfRedis } from './__fixtures__/time-of-redis.ts';
import { redisAt } from './redis-at.ts';

interface Subject {
  readonly store: PoolStore;
  /** Moves the time by which stores count leases. */
  readonly time: ManualTime;
  /** Lets time pass in what stores count by a time of their own. */
  readonly elapse: (ms: number) => Promise<void>;
}

async function memorySubject(): Promise<Subject> {
  const time = timeOfRedis();
  return { store: new MemoryPoolStore(), time, elapse: async (ms) => time.advanceMs(ms) };
}

async function openRedisStore(keyPrefix: string, settings?: RedisSettings): Promise<PoolStore> {
  const shared = settings ?? redisAt((await testBackends()).redisUrl);
  const metrics = new Metrics();
  const store = await openRedisPoolStore({ settings: shared, metrics, keyPrefix });
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
}

async function redisSubject(settings?: RedisSettings): Promise<Subject> {
  const time = timeOfRedis();
  const store = await openRedisStore(`test-${randomUUID()}:`, settings);
  return { store, time, elapse: async (ms) => void (await sleep(ms)) };
}

const groups = new Map<() => Promise<RedisGroup>, Promise<RedisGroup>>();
afterAll(async () => {
  for (const group of groups.values()) await (await group)[Symbol.asyncDispose]();
});

/** Stores in one group of servers, which starts with the first store. */
const subjectIn = (start: () => Promise<RedisGroup>) => async () => {
  const group = groups.get(start) ?? start();
  groups.set(start, group);
  const { url, env } = await group;
  return redisSubject(redisAt(url, env));
};
const access = { hasTls: true, password: 'p@ss/word' };

const leaseTtlMs = 600_000;
const ofLease = (leaseId: string) => ({ pool: 'p', model: 'm', caller: 'c', leaseId });
const leaseOf = (accountId: string, leaseId: string, maxConcurrency = Number.POSITIVE_INFINITY) => ({
  ...ofLease(leaseId),
  accountId,
  maxConcurrency,
  leaseTtlMs,
});
const settledWith = { health: healthy, poolHealth: noIncidents };

const limitedUntil = (untilMs: number): AccountHealth => ({
  problem: { kind: AccountProblem.ACCOUNT_DISABLED, sinceMs: untilMs - 3, credentialId: 'c' },
  errorAverage: 0.25,
  errorsAtMs: untilMs - 1,
  windows: [
    {
      name: '5h',
      models: '*opus*',
      usedFraction: 1,
      resetsAtMs: untilMs,
      lengthSeconds: 18_000,
      seenAtMs: untilMs - 2,
    },
  ],
  cooldowns: [
    {
      model: 'm',
      reason: AttemptResult.RATE_LIMITED,
      sinceMs: untilMs - 2,
      untilMs,
      givenByProvider: false,
      repeats: 2,
      window: '5h',
      credentialMark: 'ab',
      probeFromMs: untilMs - 1,
      probe: { leaseId: 'p', expiresAtMs: untilMs + 1 },
    },
  ],
});

describe.each([
  ['memory', memorySubject],
  ['Redis', () => redisSubject()],
  ['Redis behind Sentinels, with TLS and a password', subjectIn(() => startRedisSentinels(access))],
  ['a Redis Cluster, with TLS and a password', subjectIn(() => startRedisCluster(access))],
])('a pool store in %s', (_kind, subject) => {
  it('knows nothing bad of an account that it does not know', async () => {
    const { store } = await subject();
    const accounts = await store.readAccounts(['p/a', 'p/b'], leaseTtlMs);
    expect(accounts).toEqual([
      { health: healthy, inFlight: 0 },
      { health: healthy, inFlight: 0 },
    ]);
  });

  it('keeps health whole', async () => {
    const { store, time } = await subject();
    const health = limitedUntil(time.nowMs + 60_000);
    expect(await store.changeHealth('p/a', () => health)).toBe(true);
    expect((await store.readAccounts(['p/a'], leaseTtlMs))[0]?.health).toEqual(health);
  });

  it('changes nothing when the change declines', async () => {
    const { store } = await subject();
    expect(await store.changeHealth('p/a', () => undefined)).toBe(false);
    expect(await store.changeHealth('p/a', (health) => health)).toBe(false);
  });

  it('loses no change of those made together', async () => {
    const { store } = await subject();
    const count = (health: AccountHealth) => ({
      ...health,
      errorAverage: health.errorAverage + 1,
      errorsAtMs: Date.now(),
    });
    await Promise.all(Array.from({ length: 5 }, () => store.changeHealth('p/a', count)));
    expect((await store.readAccounts(['p/a'], leaseTtlMs))[0]?.health.errorAverage).toBe(5);
  });

  it('gives no more leases than there is room for, to callers that come together', async () => {
    const { store } = await subject();
    const taken = await Promise.all(
      Array.from({ length: 10 }, (_, n) => store.takeLease(leaseOf('p/a', `lease ${n}`, 3))),
    );
    expect(taken.filter(Boolean)).toHaveLength(3);
    expect((await store.readAccounts(['p/a'], leaseTtlMs))[0]?.inFlight).toBe(3);
  });

  it('gives a caller no more leases than it may have of a pool, though its requests come together', async () => {
    const { store } = await subject();
    const take = (n: number, maxPerCaller?: number) =>
      store.takeLease({ ...leaseOf(n % 2 === 0 ? 'p/a' : 'p/b', `lease ${n}`), ...(maxPerCaller && { maxPerCaller }) });
    const taken = await Promise.all(Array.from({ length: 10 }, (_, n) => take(n, 3)));
    expect(taken.filter(Boolean)).toHaveLength(3);
    const [first = expect.fail('one was taken')] = taken.flatMap((isTaken, n) => (isTaken ? [n] : []));
    expect([await take(first, 3), await take(10, 3), await take(11)]).toEqual([true, false, true]);
  });

  it('takes a repeated lease for the same one', async () => {
    const { store } = await subject();
    expect(await store.takeLease(leaseOf('p/a', 'lease', 1))).toBe(true);
    expect(await store.takeLease(leaseOf('p/a', 'lease', 1))).toBe(true);
    expect((await store.readAccounts(['p/a'], leaseTtlMs))[0]?.inFlight).toBe(1);
  });

  it('settles a lease once, and says when it was taken', async () => {
    const { store, time } = await subject();
    const leasedAtMs = time.nowMs;
    await store.takeLease(leaseOf('p/a', 'lease', 1));
    time.advanceMs(5_000);
    expect(await store.settleLease('p/a', ofLease('lease'))).toEqual({ leasedAtMs, ...settledWith });
    expect(await store.settleLease('p/a', ofLease('lease'))).toBeUndefined();
    expect(await store.takeLease(leaseOf('p/a', 'next', 1))).toBe(true);
  });

  it('gives the health that an end may change as it is at that instant', async () => {
    const { store, time } = await subject();
    const health = limitedUntil(time.nowMs + 60_000);
    const failures = [{ accountId: 'p/a', atMs: time.nowMs }];
    const poolHealth = {
      incidents: [{ cause: AttemptResult.OVERLOADED as const, model: 'm', sinceMs: time.nowMs, failures }],
    };
    await store.changeHealth('p/a', () => health);
    await store.changePoolHealth('p', () => poolHealth);
    await store.takeLease(leaseOf('p/a', 'lease'));
    expect(await store.settleLease('p/a', ofLease('lease'))).toMatchObject({ health, poolHealth });
  });

  it('counts no request that got no lease', async () => {
    const { store } = await subject();
    await store.takeLease(leaseOf('p/a', 'lease', 1));
    expect(await store.takeLease(leaseOf('p/a', 'second', 1))).toBe(false);
    const share = await store.shareOf({ pool: 'p', caller: 'c', leaseTtlMs, callerMemoryMs: 60_000 });
    expect(share.inFlight).toBe(1);
  });

  it('settles a lease it does not know, once', async () => {
    const { store } = await subject();
    expect(await store.settleLease('p/a', ofLease('lease'))).toEqual({
      leasedAtMs: undefined,
      ...settledWith,
    });
    expect(await store.settleLease('p/a', ofLease('lease'))).toBeUndefined();
  });

  it('stops counting leases without a report', async () => {
    const { store, time } = await subject();
    await store.takeLease(leaseOf('p/a', 'old', 1));
    time.advanceMs(leaseTtlMs - 1);
    expect(await store.takeLease(leaseOf('p/a', 'new', 1))).toBe(false);
    time.advanceMs(1);
    expect((await store.readAccounts(['p/a'], leaseTtlMs))[0]?.inFlight).toBe(0);
    expect(await store.takeLease(leaseOf('p/a', 'new', 1))).toBe(true);
  });

  it('counts a lease that is renewed for as long as it is, to its account and to its caller', async () => {
    const { store, time } = await subject();
    const takenAtMs = time.nowMs;
    await store.takeLease(leaseOf('p/a', 'long', 1));
    for (let n = 0; n < 4; n++) {
      time.advanceMs(leaseTtlMs * 0.75);
      await store.renewLease(leaseOf('p/a', 'long'));
      expect(await store.takeLease(leaseOf('p/a', 'second', 1))).toBe(false);
      expect((await store.readAccounts(['p/a'], leaseTtlMs))[0]?.inFlight).toBe(1);
      const share = await store.shareOf({ pool: 'p', caller: 'c', leaseTtlMs, callerMemoryMs: 60_000 });
      expect(share.inFlight).toBe(1);
    }
    // Renewing a request does not change its start.
    expect(await store.oldestRequest({ pool: 'p', model: 'm', sinceMs: takenAtMs + 1 })).toBeUndefined();
    time.advanceMs(leaseTtlMs);
    expect((await store.readAccounts(['p/a'], leaseTtlMs))[0]?.inFlight).toBe(0);
  });

  it('says when a lease was taken, not when it was renewed', async () => {
    const { store, time } = await subject();
    const leasedAtMs = time.nowMs;
    await store.takeLease(leaseOf('p/a', 'lease'));
    time.advanceMs(leaseTtlMs / 3);
    await store.renewLease(leaseOf('p/a', 'lease'));
    expect(await store.settleLease('p/a', ofLease('lease'))).toMatchObject({ leasedAtMs });
  });

  it('does not count a lease again that was settled', async () => {
    const { store } = await subject();
    await store.takeLease(leaseOf('p/a', 'lease'));
    await store.settleLease('p/a', ofLease('lease'));
    await store.renewLease(leaseOf('p/a', 'lease'));
    expect((await store.readAccounts(['p/a'], leaseTtlMs))[0]?.inFlight).toBe(0);
  });

  it('counts a lease again that ran out, or that it does not know, and settles it once', async () => {
    const { store, time } = await subject();
    await store.takeLease(leaseOf('p/a', 'given'));
    time.advanceMs(leaseTtlMs);
    expect((await store.readAccounts(['p/a'], leaseTtlMs))[0]?.inFlight).toBe(0);
    const leaseIds = ['given', 'unknown'];
    for (const leaseId of leaseIds) await store.renewLease(leaseOf('p/a', leaseId));
    expect((await store.readAccounts(['p/a'], leaseTtlMs))[0]?.inFlight).toBe(2);
    for (const leaseId of leaseIds) {
      expect(await store.settleLease('p/a', ofLease(leaseId))).toBeDefined();
      expect(await store.settleLease('p/a', ofLease(leaseId))).toBeUndefined();
    }
    expect((await store.readAccounts(['p/a'], leaseTtlMs))[0]?.inFlight).toBe(0);
  });

  it('binds a session until its account lets go of it', async () => {
    const { store } = await subject();
    expect(await store.boundAccount('s')).toBeUndefined();
    await store.bind('s', 'p/a', 60_000);
    await store.bind('s', 'p/b', 60_000);
    expect(await store.boundAccount('s')).toBe('p/a');
    await store.unbind('s', 'p/b');
    expect(await store.boundAccount('s')).toBe('p/a');
    await store.unbind('s', 'p/a');
    await store.bind('s', 'p/b', 60_000);
    expect(await store.boundAccount('s')).toBe('p/b');
  });

  it('lets a binding end by itself', async () => {
    const { store, elapse } = await subject();
    await store.bind('s', 'p/a', 30);
    await elapse(60);
    expect(await store.boundAccount('s')).toBeUndefined();
  });

  it('keeps the last list of a pool whose list cannot be read any more', async () => {
    const { store, time } = await subject();
    const atMs = time.nowMs;
    expect(await store.readModelReports(['p', 'q'])).toEqual([]);
    const models = [{ id: 'm-1', displayName: 'M "1" é' }];
    await store.saveModelReport({ pool: 'p', reportedAtMs: atMs + 1, reachable: true, models });
    await store.saveModelReport({ pool: 'p', reportedAtMs: atMs + 2, reachable: false, models: undefined });
    await store.saveModelReport({ pool: 'q', reportedAtMs: atMs + 3, reachable: false, models: undefined });
    expect(await store.readModelReports(['p', 'q'])).toEqual([
      { pool: 'p', reportedAtMs: atMs + 2, reachable: false, models },
      { pool: 'q', reportedAtMs: atMs + 3, reachable: false, models: undefined },
    ]);
  });
});

describe.each([
  ['memory', memorySubject],
  ['Redis', redisSubject],
])('the requests in flight in %s', (_kind, subject) => {
  const request = (leaseId: string, rest: Partial<NewLease> = {}) => ({ ...leaseOf('p/a', leaseId), ...rest });
  const share = (caller: string) => ({ pool: 'p', caller, leaseTtlMs, callerMemoryMs: 60_000 });

  it('knows the oldest request of a time, of a model or of any', async () => {
    const { store, time } = await subject();
    const startMs = time.nowMs;
    await store.takeLease(request('1'));
    time.advanceMs(1_000);
    await store.takeLease(request('2', { model: 'other' }));
    const oldest = (model: string, sinceMs: number) => store.oldestRequest({ pool: 'p', model, sinceMs });
    expect(await oldest('', startMs)).toBe(startMs);
    expect(await oldest('', startMs + 1)).toBe(startMs + 1_000);
    expect(await oldest('m', startMs + 1)).toBeUndefined();
    await store.settleLease('p/a', request('1'));
    await store.settleLease('p/a', request('1'));
    expect(await oldest('m', startMs)).toBeUndefined();
    expect(await oldest('', startMs)).toBe(startMs + 1_000);
  });

  it('knows what a caller has, and how many share the pool', async () => {
    const { store, time } = await subject();
    await store.takeLease(request('1'));
    await store.takeLease(request('2'));
    await store.takeLease(request('3', { caller: '' }));
    expect(await store.shareOf(share('c'))).toEqual({ inFlight: 2, callers: 1 });
    expect(await store.shareOf(share('d'))).toEqual({ inFlight: 0, callers: 2 });
    await store.settleLease('p/a', request('2'));
    expect(await store.shareOf(share('c'))).toEqual({ inFlight: 1, callers: 2 });
    time.advanceMs(60_000);
    expect(await store.shareOf(share('c'))).toEqual({ inFlight: 1, callers: 1 });
    time.advanceMs(leaseTtlMs);
    expect(await store.shareOf(share('c'))).toEqual({ inFlight: 0, callers: 1 });
  });

  it('keeps the health of pools, and loses no change of those made together', async () => {
    const { store, time } = await subject();
    expect(await store.readPool('p')).toEqual(noIncidents);
    const atMs = time.nowMs;
    const failed = (n: number) => (health: PoolHealth) => ({
      incidents: [
        {
          cause: AttemptResult.OVERLOADED as const,
          model: 'm',
          sinceMs: atMs,
          failures: [...(health.incidents[0]?.failures ?? []), { accountId: `p/${n}`, atMs }],
          pause: {
            ...{ model: 'm', reason: AttemptResult.OVERLOADED as const, sinceMs: atMs, untilMs: atMs + 1 },
            ...{ givenByProvider: false, repeats: 2, probe: { leaseId: 'l', expiresAtMs: atMs + 2 } },
          },
        },
      ],
    });
    await Promise.all(Array.from({ length: 40 }, (_, n) => store.changePoolHealth('p', failed(n))));
    const health = await store.readPool('p');
    expect(health?.incidents[0]?.failures).toHaveLength(40);
    expect(health?.incidents[0]?.pause).toEqual(failed(0)(noIncidents).incidents[0]?.pause);
    expect(await store.changePoolHealth('p', () => undefined)).toBe(false);
  });
});

describe('a pool store in Redis', () => {
  it('is shared by all who open it', async () => {
    const prefix = `test-${randomUUID()}:`;
    const [one, other] = [await openRedisStore(prefix), await openRedisStore(prefix)];
    await one.takeLease(leaseOf('p/a', 'lease', 1));
    expect(await other.takeLease(leaseOf('p/a', 'second', 1))).toBe(false);
    await other.settleLease('p/a', ofLease('lease'));
    expect(await one.settleLease('p/a', ofLease('lease'))).toBeUndefined();
  });

  it('goes on when Redis has forgotten its scripts', async () => {
    const store = await openRedisStore(`test-${randomUUID()}:`);
    const redis = new Redis((await testBackends()).redisUrl);
    onTestFinished(() => redis.disconnect());
    for (const n of [1, 2, 3]) {
      await redis.script('FLUSH');
      expect(await store.takeLease(leaseOf('p/a', `lease ${n}`, 2))).toBe(n < 3);
    }
    await redis.script('FLUSH');
    expect((await store.readAccounts(['p/a', 'p/b'], leaseTtlMs))[0]?.inFlight).toBe(2);
  });

  it('leaves nothing behind for ever, and keeps the keys of a pool together', async () => {
    const { redisUrl } = await testBackends();
    const prefix = `test-${randomUUID()}:`;
    const store = await openRedisStore(prefix);
    await store.changeHealth('p/a', () => limitedUntil(store.nowMs() + 60_000));
    await store.takeLease(leaseOf('p/a', 'one'));
    await store.takeLease(leaseOf('p/a', 'two'));
    await store.renewLease(leaseOf('p/a', 'two'));
    await store.settleLease('p/a', ofLease('one'));
    await store.bind('s', 'p/a', 60_000);
    await store.shareOf({ pool: 'p', caller: 'c', leaseTtlMs, callerMemoryMs: 60_000 });
    const failures = [{ accountId: 'p/a', atMs: store.nowMs() }];
    const incident = { cause: AttemptResult.OVERLOADED, model: 'm', sinceMs: store.nowMs(), failures } as const;
    await store.changePoolHealth('p', () => ({ incidents: [incident] }));
    await store.saveModelReport({ pool: 'p', reportedAtMs: store.nowMs(), reachable: true, models: [] });

    const redis = new Redis(redisUrl);
    onTestFinished(() => redis.disconnect());
    const keys = (await redis.keys(`${prefix}*`)).map((key) => key.slice(prefix.length)).sort();
    expect(keys).toEqual([
      '{affinity:s}',
      '{p}:account:p/a:health',
      '{p}:account:p/a:leases',
      '{p}:account:p/a:settled',
      '{p}:caller:c',
      '{p}:callers',
      '{p}:health',
      '{p}:model:m',
      '{p}:report',
      '{p}:requests',
    ]);
    for (const key of keys) expect(await redis.pttl(prefix + key)).toBeGreaterThan(0);
  });

  it('takes what it cannot read for nothing', async () => {
    const { redisUrl } = await testBackends();
    const prefix = `test-${randomUUID()}:`;
    const store = await openRedisStore(prefix);
    const redis = new Redis(redisUrl);
    onTestFinished(() => redis.disconnect());
    await redis.set(`${prefix}{p}:account:p/a:health`, '{"cooldowns": [', 'PX', 60_000);
    await redis.set(`${prefix}{p}:report`, '{"reachable": "perhaps"}', 'PX', 60_000);
    // As an earlier release wrote them.
    const earlier = { sinceMs: 1, untilMs: 9e15, model: '', givenByProvider: true, repeats: 0, reason: 'rate_limited' };
    const ofAccount = { ...healthy, cooldowns: [earlier] };
    const ofPool = { incidents: [{ cause: 'overloaded', model: '', sinceMs: 1, failures: [] }] };
    await redis.set(`${prefix}{p}:account:p/b:health`, JSON.stringify(ofAccount), 'PX', 60_000);
    await redis.set(`${prefix}{p}:health`, JSON.stringify(ofPool), 'PX', 60_000);
    const read = await store.readAccounts(['p/a', 'p/b'], leaseTtlMs);
    expect(read.map(({ health }) => health)).toEqual([healthy, healthy]);
    expect(await store.readPool('p')).toEqual(noIncidents);
    expect(await store.settleLease('p/b', ofLease('l'))).toMatchObject(settledWith);
    expect(await store.readModelReports(['p'])).toEqual([]);
    const health = limitedUntil(Date.now() + 60_000);
    await store.changeHealth('p/a', () => health);
    expect((await store.readAccounts(['p/a'], leaseTtlMs))[0]?.health).toEqual(health);
  });
});
