import { openRedis } from '@gateway/redis';
import type { Clock } from '@gateway/time';
import type { Redis } from 'ioredis';
import type { ModelReport } from '../catalog/list-models.ts';
import type { PoolHealth } from '../health/pool-health.ts';
import {
  type AccountRecord,
  type CallerShare,
  type EndedRequest,
  type HealthChange,
  type LeaseRenewal,
  type LeaseSettlement,
  maxCallers,
  type NewLease,
  type PoolHealthChange,
  type PoolRequest,
  type PoolStore,
  type ShareQuestion,
  type SinceQuestion,
  settledMemoryMs,
} from './pool-store.ts';
import { type PoolRedis, withScripts } from './redis-scripts.ts';
import { fromStoredReport, type StoredValue, storedHealth, storedPoolHealth, toStoredReport } from './stored-values.ts';

export interface RedisPoolStoreOptions {
  readonly url: string;
  /** How long one command may take. */
  readonly commandTimeoutMs: number;
  readonly clock: Clock;
  /** Before every key, so that suites can share a server. Default "pool:". */
  readonly keyPrefix?: string;
}

/** The pool store that replicas share. Every key has a TTL; leases and requests are members of sorted sets, by time. */
export class RedisPoolStore implements PoolStore {
  readonly #redis: PoolRedis;
  readonly #clock: Clock;
  readonly #prefix: string;
  /** The last change that this process makes of each value. */
  readonly #changes = new Map<string, Promise<boolean>>();

  /** Opens the store whether Redis is there or not; while it is away calls reject within the command timeout. */
  static async open({ url, commandTimeoutMs: timeoutMs, clock, keyPrefix = 'pool:' }: RedisPoolStoreOptions) {
    const redis = openRedis({ url, timeoutMs, isRepeatable: false });
    await redis.connect().catch(() => undefined);
    return new RedisPoolStore(redis, clock, keyPrefix);
  }

  private constructor(redis: Redis, clock: Clock, prefix: string) {
    this.#redis = withScripts(redis);
    this.#clock = clock;
    this.#prefix = prefix;
  }

  /** With one script per pool. */
  async readAccounts(accountIds: readonly string[], leaseTtlMs: number): Promise<readonly AccountRecord[]> {
    const records = new Map<string, AccountRecord>();
    const read = async (ids: readonly string[]) => {
      const keys = ids.map((id) => this.#accountKeys(id)).flatMap(({ health, leases }) => [health, leases]);
      const found = await this.#redis.poolReadAccounts(keys.length, ...keys, `(${this.#clock.nowMs() - leaseTtlMs}`);
      ids.forEach((id, at) => {
        const [health, inFlight] = [found[2 * at], found[2 * at + 1]];
        records.set(id, { health: storedHealth.read(health?.toString() ?? null), inFlight: Number(inFlight) });
      });
    };
    await Promise.all(Map.groupBy(accountIds, poolOf).values().map(read));
    return accountIds.map((id) => records.get(id)).filter((record) => record !== undefined);
  }

  async changeHealth(accountId: string, change: HealthChange): Promise<boolean> {
    return this.#change(this.#accountKeys(accountId).health, change, storedHealth);
  }

  async readPool(pool: string): Promise<PoolHealth> {
    return storedPoolHealth.read(await this.#redis.get(this.#poolKeys(pool).health));
  }

  async changePoolHealth(pool: string, change: PoolHealthChange): Promise<boolean> {
    return this.#change(this.#poolKeys(pool).health, change, storedPoolHealth);
  }

  async takeLease(lease: NewLease): Promise<boolean> {
    const { leaseId, accountId, maxConcurrency, leaseTtlMs } = lease;
    const keys = [this.#accountKeys(accountId).leases, ...this.#requestSets(lease)];
    const cap = Number.isFinite(maxConcurrency) ? maxConcurrency : -1;
    const parameters = [leaseId, this.#clock.nowMs(), leaseTtlMs, cap];
    return (await this.#redis.poolTakeLease(keys.length, ...keys, ...parameters)) === 1;
  }

  async renewLease({ accountId, pool, caller, leaseId, leaseTtlMs }: LeaseRenewal): Promise<void> {
    const { leases, settled } = this.#accountKeys(accountId);
    const keys = [settled, leases, ...(caller === '' ? [] : [this.#poolKeys(pool).caller(caller)])];
    await this.#redis.poolRenewLease(keys.length, ...keys, leaseId, this.#clock.nowMs(), leaseTtlMs);
  }

  async settleLease(accountId: string, request: EndedRequest): Promise<LeaseSettlement> {
    const { leases, settled, health } = this.#accountKeys(accountId);
    const keys = [settled, health, this.#poolKeys(request.pool).health, leases, ...this.#requestSets(request)];
    const parameters = [request.leaseId, this.#clock.nowMs(), settledMemoryMs];
    const [leasedAt, ...healths] = await this.#redis.poolSettleLease(keys.length, ...keys, ...parameters);
    if (leasedAt === undefined) return { kind: 'settled_before' };
    return {
      kind: 'settled',
      leasedAtMs: leasedAt === '' ? undefined : Number(leasedAt),
      health: storedHealth.read(healths[0] ?? null),
      poolHealth: storedPoolHealth.read(healths[1] ?? null),
    };
  }

  async oldestRequest({ pool, model, sinceMs }: SinceQuestion): Promise<number | undefined> {
    const keys = this.#poolKeys(pool);
    const key = model === '' ? keys.requests : keys.model(model);
    const [, timeMs] = await this.#redis.zrangebyscore(key, sinceMs, '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
    return timeMs === undefined ? undefined : Number(timeMs);
  }

  async shareOf({ pool, caller, leaseTtlMs, callerMemoryMs }: ShareQuestion): Promise<CallerShare> {
    const keys = this.#poolKeys(pool);
    const parameters = [caller, this.#clock.nowMs(), callerMemoryMs, leaseTtlMs, maxCallers];
    const [inFlight, callers] = await this.#redis.poolShareOf(2, keys.callers, keys.caller(caller), ...parameters);
    return { inFlight, callers };
  }

  async boundAccount(affinityId: string): Promise<string | undefined> {
    return (await this.#redis.get(this.#bindingKey(affinityId))) ?? undefined;
  }

  async bind(affinityId: string, accountId: string, ttlMs: number): Promise<void> {
    await this.#redis.poolBind(1, this.#bindingKey(affinityId), accountId, ttlMs);
  }

  async unbind(affinityId: string, accountId: string): Promise<void> {
    await this.#redis.poolUnbind(1, this.#bindingKey(affinityId), accountId);
  }

  async saveModelReport(report: ModelReport): Promise<void> {
    const key = this.#poolKeys(report.pool).models;
    await this.#redis.multi().hset(key, toStoredReport(report)).pexpire(key, modelReportTtlMs).exec();
  }

  async readModelReports(pools: readonly string[]): Promise<readonly ModelReport[]> {
    const read = async (pool: string) => fromStoredReport(pool, await this.#redis.hgetall(this.#poolKeys(pool).models));
    return (await Promise.all(pools.map(read))).filter((report) => report !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redis.disconnect();
  }

  /** Changes of this process follow each other, so that a change has to be repeated only after one of another replica. */
  async #change<T>(key: string, change: (value: T) => T | undefined, stored: StoredValue<T>): Promise<boolean> {
    const before = this.#changes.get(key)?.catch(() => false);
    const changing = Promise.resolve(before).then(() => this.#replace(key, change, stored));
    this.#changes.set(key, changing);
    try {
      return await changing;
    } finally {
      if (this.#changes.get(key) === changing) this.#changes.delete(key);
    }
  }

  async #replace<T>(key: string, change: (value: T) => T | undefined, stored: StoredValue<T>): Promise<boolean> {
    for (let tries = 0; tries < maxTries; tries++) {
      const text = await this.#redis.get(key);
      const value = stored.read(text);
      const next = change(value);
      if (next === undefined || next === value) return false;
      const ttlMs = Math.max(1, Math.ceil(stored.endsAtMs(next) - this.#clock.nowMs()));
      if ((await this.#redis.poolReplace(1, key, text ?? '', JSON.stringify(next), ttlMs)) === 1) return true;
    }
    throw new Error('A health changed too often to be changed.');
  }

  /** The sets that a request is in while it goes on. */
  #requestSets({ pool, model, caller }: PoolRequest): readonly string[] {
    const keys = this.#poolKeys(pool);
    return [keys.requests, keys.model(model), ...(caller === '' ? [] : [keys.caller(caller)])];
  }

  /** Leases by when they were taken, or renewed last; settled ones by when they were settled. */
  #accountKeys(accountId: string) {
    const start = `${this.#prefix}{${poolOf(accountId)}}:account:${accountId}`;
    return { health: `${start}:health`, leases: `${start}:leases`, settled: `${start}:settled` };
  }

  /** Callers by when they last asked; requests, and those for a model, by when they began; those of a caller as leases. */
  #poolKeys(pool: string) {
    const start = `${this.#prefix}{${pool}}`;
    return {
      health: `${start}:health`,
      callers: `${start}:callers`,
      requests: `${start}:requests`,
      models: `${start}:models`,
      model: (model: string) => `${start}:model:${model}`,
      caller: (caller: string) => `${start}:caller:${caller}`,
    };
  }

  #bindingKey(affinityId: string): string {
    return `${this.#prefix}{affinity:${affinityId}}`;
  }
}

/** Account ids are "<pool>/<name>". */
function poolOf(accountId: string): string {
  return accountId.split('/', 1)[0] ?? '';
}

// Each try loses only to another replica that has just changed the same value.
const maxTries = 30;

/** How long a model list is kept on which there are no more reports. */
const modelReportTtlMs = 7 * 86_400_000;
