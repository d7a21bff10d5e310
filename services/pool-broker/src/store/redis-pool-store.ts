import {
  connectTimeoutMs,
  openRedis,
  type RedisOptions,
  redisOperations,
  runScript,
  scriptOf,
  within,
} from '@gateway/redis';
import type { Metrics } from '@gateway/telemetry';
import type { z } from 'zod';
import { type ModelReport, modelReportSchema } from '../catalog/list-models.ts';
import { type AccountHealth, accountHealthSchema, healthForgottenAtMs, healthy } from '../health/account-health.ts';
import { forgottenIncidentAtMs, noIncidents, type PoolHealth, poolHealthSchema } from '../health/pool-health.ts';
import { maxCallers, type PoolRequest, readApart, type SharedPoolStore } from './pool-store.ts';
import { RedisClock } from './redis-clock.ts';

export interface RedisPoolStoreOptions extends Pick<RedisOptions, 'settings' | 'onFault'> {
  readonly metrics: Metrics;
  /** Prefix of every key, so that suites can share a server. Default "pool:". */
  readonly keyPrefix?: string;
}

/**
 * The pool store that replicas share. Every key has a TTL; leases and requests are members of
 * sorted sets, scored by time. It opens whether or not Redis is reachable; during an outage calls
 * reject.
 */
export async function openRedisPoolStore(options: RedisPoolStoreOptions): Promise<SharedPoolStore> {
  const { metrics, keyPrefix } = options;
  const redis = openRedis({ ...options, isRepeatable: false });
  const measured = redisOperations(metrics);
  const keys = keysWith(keyPrefix ?? 'pool:');
  const closed = new AbortController();
  const clock = new RedisClock(askTime);
  /** The last change of each value in this process. */
  const changes = new Map<string, Promise<unknown>>();

  const get = (key: string) => operation('get', () => redis.get(key));

  /** In a cluster the key decides which node's clock counts for all replicas. */
  async function askTime(): Promise<number> {
    const time = (await measured('time', () => runScript(redis, scripts.time, [keys.time], []))) as [string, string];
    return Number(time[0]) * 1_000 + Number(time[1]) / 1_000;
  }

  /** What is timed by the machine's clock must not reach the other replicas. */
  async function operation<T>(name: string, call: () => Promise<T>): Promise<T> {
    if (clock.isKnown) return measured(name, call);
    await clock.update();
    throw new Error('The time of Redis was unknown until now.');
  }

  /**
   * The keys of one pool, or of one session, share a hash tag, so that Redis Cluster can run the
   * script.
   */
  async function run<T>(name: keyof typeof scripts, on: readonly string[], terms: readonly (string | number)[]) {
    return (await operation(name, () => runScript(redis, scripts[name], on, terms))) as T;
  }

  /**
   * Changes by this process run one after the other, so that only a change by another replica
   * causes a retry.
   */
  async function change<T>(key: string, next: (value: T) => T | undefined, stored: StoredValue<T>) {
    const before = changes.get(key) ?? Promise.resolve();
    const changing = before.catch(() => undefined).then(() => replace(key, next, stored));
    changes.set(key, changing);
    try {
      return await changing;
    } finally {
      if (changes.get(key) === changing) changes.delete(key);
    }
  }

  async function replace<T>(key: string, nextOf: (value: T) => T | undefined, stored: StoredValue<T>) {
    // Each attempt fails only when another replica has just changed the same value.
    for (let tries = 0; tries < 30; tries++) {
      const text = await get(key);
      const value = stored.read(text);
      const next = nextOf(value);
      if (next === undefined || next === value) return false;
      const ttlMs = Math.max(1, Math.ceil(stored.endsAtMs(next) - clock.nowMs()));
      if ((await run('replace', [key], [text ?? '', JSON.stringify(next), ttlMs])) === 1) return true;
    }
    throw new Error('A value changed too often to be updated.');
  }

  await measured('connect', () => within(connectTimeoutMs, redis.connect())).catch(() => undefined);
  redis.on('ready', () => clock.update().catch(() => undefined));
  await within(connectTimeoutMs, clock.update()).catch(() => undefined);
  void clock.follow(closed.signal);
  const store: SharedPoolStore = {
    nowMs: () => clock.nowMs(),
    get isTimeKnown() {
      return clock.isKnown;
    },
    readPoolView: (question) => readApart(store, question),

    /** Uses one script per pool. */
    async readAccounts(accountIds, leaseTtlMs) {
      const records = new Map<string, { health: AccountHealth; inFlight: number }>();
      const read = async (ids: readonly string[]) => {
        const ofAccounts = ids.map(keys.account).flatMap(({ health, leases }) => [health, leases]);
        const found = await run<unknown[]>('readAccounts', ofAccounts, [`(${clock.nowMs() - leaseTtlMs}`]);
        ids.forEach((id, at) => {
          records.set(id, { health: storedHealth.read(found[2 * at]), inFlight: Number(found[2 * at + 1]) });
        });
      };
      await Promise.all(Map.groupBy(accountIds, poolOf).values().map(read));
      return accountIds.map((id) => records.get(id)).filter((record) => record !== undefined);
    },

    changeHealth: (accountId, next) => change(keys.account(accountId).health, next, storedHealth),
    readPool: async (pool) => storedPoolHealth.read(await get(keys.pool(pool).health)),
    changePoolHealth: (pool, next) => change(keys.pool(pool).health, next, storedPoolHealth),

    async takeLease(lease) {
      const { leaseId, accountId, maxConcurrency, maxPerCaller = Number.POSITIVE_INFINITY, leaseTtlMs } = lease;
      const caps = [maxConcurrency, maxPerCaller].map((cap) => (Number.isFinite(cap) ? cap : -1));
      const sets = [keys.account(accountId).leases, ...keys.requestSets(lease)];
      return (await run('takeLease', sets, [leaseId, clock.nowMs(), leaseTtlMs, ...caps])) === 1;
    },

    async renewLease({ accountId, pool, caller, leaseId, leaseTtlMs }) {
      const { leases, settled } = keys.account(accountId);
      const sets = [settled, leases, ...(caller === '' ? [] : [keys.pool(pool).caller(caller)])];
      await run('renewLease', sets, [leaseId, clock.nowMs(), leaseTtlMs]);
    },

    async settleLease(accountId, request) {
      const { leases, settled, health } = keys.account(accountId);
      const touched = [settled, health, keys.pool(request.pool).health, leases, ...keys.requestSets(request)];
      const parameters = [request.leaseId, clock.nowMs(), settledMemoryMs];
      const [leasedAt, ...healths] = await run<string[]>('settleLease', touched, parameters);
      if (leasedAt === undefined) return undefined;
      return {
        leasedAtMs: leasedAt === '' ? undefined : Number(leasedAt),
        health: storedHealth.read(healths[0]),
        poolHealth: storedPoolHealth.read(healths[1]),
      };
    },

    async oldestRequest({ pool, model, sinceMs }) {
      const { requests, model: ofModel } = keys.pool(pool);
      const key = model === '' ? requests : ofModel(model);
      const [, timeMs] = await operation('zrangebyscore', () =>
        redis.zrangebyscore(key, sinceMs, '+inf', 'WITHSCORES', 'LIMIT', 0, 1),
      );
      return timeMs === undefined ? undefined : Number(timeMs);
    },

    async shareOf({ pool, caller, leaseTtlMs, callerMemoryMs }) {
      const { callers: all, caller: ofCaller } = keys.pool(pool);
      const parameters = [caller, clock.nowMs(), callerMemoryMs, leaseTtlMs, maxCallers];
      const [inFlight, callers] = await run<[number, number]>('shareOf', [all, ofCaller(caller)], parameters);
      return { inFlight, callers };
    },

    boundAccount: async (affinityId) => (await get(keys.binding(affinityId))) ?? undefined,
    bind: (affinityId, accountId, ttlMs) => run('bind', [keys.binding(affinityId)], [accountId, ttlMs]),
    unbind: (affinityId, accountId) => run('unbind', [keys.binding(affinityId)], [accountId]),

    async saveModelReport(report) {
      const next = (known?: ModelReport) => ({ ...report, models: report.models ?? known?.models });
      await change(keys.pool(report.pool).report, next, storedReport);
    },

    async readModelReports(pools) {
      const texts = await Promise.all(pools.map((pool) => get(keys.pool(pool).report)));
      return texts.map(storedReport.read).filter((report) => report !== undefined);
    },

    async [Symbol.asyncDispose]() {
      closed.abort();
      redis.disconnect();
    },
  };
  return store;
}

function keysWith(prefix: string) {
  /**
   * Leases scored by when they were taken or last renewed; settled ones by when they were settled.
   */
  const account = (accountId: string) => {
    const start = `${prefix}{${poolOf(accountId)}}:account:${accountId}`;
    return { health: `${start}:health`, leases: `${start}:leases`, settled: `${start}:settled` };
  };
  /**
   * Callers scored by their last use; requests, in total and per model, by their start; those of a
   * caller like leases.
   */
  const pool = (name: string) => {
    const start = `${prefix}{${name}}`;
    return {
      health: `${start}:health`,
      callers: `${start}:callers`,
      requests: `${start}:requests`,
      report: `${start}:report`,
      model: (model: string) => `${start}:model:${model}`,
      caller: (caller: string) => `${start}:caller:${caller}`,
    };
  };
  /** The sets that contain a request while it runs. */
  const requestSets = ({ pool: name, model, caller }: PoolRequest): readonly string[] => {
    const ofPool = pool(name);
    return [ofPool.requests, ofPool.model(model), ...(caller === '' ? [] : [ofPool.caller(caller)])];
  };
  const binding = (affinityId: string) => `${prefix}{affinity:${affinityId}}`;
  return { account, pool, requestSets, binding, time: `${prefix}{time}` };
}

/** Account ids are "<pool>/<name>". */
function poolOf(accountId: string): string {
  return accountId.split('/', 1)[0] ?? '';
}

/**
 * The minimum time for which a settled lease is remembered, so that a repeated report is
 * recognised.
 */
const settledMemoryMs = 120_000;

/** How a value is stored as JSON. */
interface StoredValue<T> {
  /**
   * A missing or unreadable text counts as a value without faults: the next failures will show
   * them.
   */
  readonly read: (text: unknown) => T;
  /** When the value can be dropped. */
  readonly endsAtMs: (value: T) => number;
}

const storedHealth = { read: jsonReader(accountHealthSchema, healthy), endsAtMs: healthForgottenAtMs };

const storedPoolHealth = {
  read: jsonReader(poolHealthSchema, noIncidents),
  endsAtMs: ({ incidents }: PoolHealth) => Math.max(0, ...incidents.map(forgottenIncidentAtMs)),
};

/** A model list without further reports is kept for a week. */
const storedReport = {
  read: jsonReader(modelReportSchema, undefined),
  endsAtMs: (report: ModelReport | undefined) => (report?.reportedAtMs ?? 0) + 7 * 86_400_000,
};

function jsonReader<T, E>(schema: z.ZodType<T>, empty: E) {
  return (text: unknown): T | E => {
    if (typeof text !== 'string' || text === '') return empty;
    try {
      return schema.parse(JSON.parse(text));
    } catch {
      return empty;
    }
  };
}

/** Adds a lease to sorted sets, scored by a time, and removes members that are too old. */
const countIn = `
local function count_in(key, lease, now, ttl)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - ttl)
  redis.call('ZADD', key, now, lease)
  redis.call('PEXPIRE', key, ttl)
end`;

const scripts = {
  // Returns seconds and microseconds.
  time: scriptOf("return redis.call('TIME')"),

  // Keys: health and leases of each account. Parameters: the time before which leases are ignored,
  // as "(<ms>". Returns health and number of leases of each.
  readAccounts: scriptOf(`
local found = {}
for index = 1, #KEYS, 2 do
  found[index] = redis.call('GET', KEYS[index])
  found[index + 1] = redis.call('ZCOUNT', KEYS[index + 1], ARGV[1], '+inf')
end
return found`),

  // Keys: leases of the account, then the sets of requests, that of the caller last. Parameters:
  // lease, now, TTL, cap of the account and of the caller (-1 for none). Returns 1 if there was
  // room.
  takeLease: scriptOf(`${countIn}
local lease, now, ttl = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
for key, cap in pairs({ [KEYS[1]] = tonumber(ARGV[4]), [KEYS[#KEYS]] = tonumber(ARGV[5]) }) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - ttl)
  if cap >= 0 and not redis.call('ZSCORE', key, lease) and redis.call('ZCARD', key) >= cap then return 0 end
end
for _, key in ipairs(KEYS) do count_in(key, lease, now, ttl) end
return 1`),

  // Keys: settled leases, then the sets in which the lease counts. Parameters: lease, now, TTL. The
  // sets scored by the start of requests are not among the keys, because the start does not change.
  renewLease: scriptOf(`${countIn}
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
for index = 2, #KEYS do count_in(KEYS[index], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])) end
return 1`),

  // Keys: settled leases, health of the account, health of the pool, leases of the account, then
  // the sets of requests, starting with the one scored by the start of requests. Parameters: lease,
  // now, memory of settled leases. Returns nothing for a lease that was settled before; otherwise
  // the start of the request and both healths ("" if unknown).
  settleLease: scriptOf(`${countIn}
local lease, now, memory = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if (tonumber(redis.call('ZSCORE', KEYS[1], lease)) or -1) > now - memory then return {} end
count_in(KEYS[1], lease, now, memory)
local began = redis.call('ZSCORE', KEYS[5], lease)
for index = 4, #KEYS do redis.call('ZREM', KEYS[index], lease) end
return { began or '', redis.call('GET', KEYS[2]) or '', redis.call('GET', KEYS[3]) or '' }`),

  // Keys: callers, requests of the caller. Parameters: caller, now, memory of callers, TTL of
  // requests, most callers. Returns the caller's requests and the number of callers.
  shareOf: scriptOf(`${countIn}
local now, ttl = tonumber(ARGV[2]), tonumber(ARGV[4])
count_in(KEYS[1], ARGV[1], now, tonumber(ARGV[3]))
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[5])
return { redis.call('ZCOUNT', KEYS[2], '(' .. now - ttl, '+inf'), redis.call('ZCARD', KEYS[1]) }`),

  // Replaces a value if it still equals the expected one. Keys: value. Parameters: expected ("" for
  // none), next, TTL.
  replace: scriptOf(`
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`),

  // Binds a session that is unbound or already bound to the account. Keys: binding. Parameters:
  // account, TTL.
  bind: scriptOf(`
local bound = redis.call('GET', KEYS[1])
if not bound or bound == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return 0`),

  // Removes a binding to the account. Keys: binding. Parameters: account.
  unbind: scriptOf(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0`),
};
