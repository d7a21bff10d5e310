import type { Clock } from '@gateway/time';
import type { Redis } from 'ioredis';
import type { ModelReport } from '../catalog/model-report.ts';
import { type AccountHealth, forgottenAtMs, forgottenProblemAtMs } from '../health/account-health.ts';
import { forgottenTroubleAtMs, type PoolHealth } from '../health/pool-health.ts';
import type { CallerShare } from '../selection/fair-share.ts';
import { InTurn } from './in-turn.ts';
import { ParsedTexts } from './parsed-texts.ts';
import type { GlanceQuestion, PoolGlance } from './pool-glance.ts';
import {
  type AccountRecord,
  type HealthChange,
  type LeaseRenewal,
  type LeaseSettlement,
  modelReportTtlMs,
  type NewLease,
  type PoolHealthChange,
  type PoolStore,
} from './pool-store.ts';
import { openRedisConnection } from './redis-connection.ts';
import { RedisKeys } from './redis-keys.ts';
import { RedisLeases } from './redis-leases.ts';
import { RedisReads } from './redis-reads.ts';
import { RedisRequestBook } from './redis-request-book.ts';
import { RedisVerbs } from './redis-verbs.ts';
import type { EndedRequest, ShareQuestion, SinceQuestion } from './request-book.ts';
import { SeenPools } from './seen-pools.ts';
import { fromStoredHealth, toStoredHealth } from './stored-health.ts';
import { fromStoredReport, toStoredReport } from './stored-model-report.ts';
import { fromStoredPoolHealth, toStoredPoolHealth } from './stored-pool-health.ts';

export interface RedisPoolStoreOptions {
  readonly url: string;
  /** How long one command may take. */
  readonly commandTimeoutMs: number;
  readonly clock: Clock;
  /** Before every key, so that suites can share a server. Default "pool:". */
  readonly keyPrefix?: string;
}

/** The pool store that replicas share. Every key has a TTL. */
export class RedisPoolStore implements PoolStore {
  readonly #redis: Redis;
  readonly #clock: Clock;
  readonly #keys: RedisKeys;
  readonly #verbs: RedisVerbs;
  readonly #reads: RedisReads;
  readonly #healths = new ParsedTexts(fromStoredHealth);
  readonly #poolHealths = new ParsedTexts(fromStoredPoolHealth);
  readonly #requests: RedisRequestBook;
  readonly #changes = new InTurn();
  readonly #seen: SeenPools;
  readonly #leases: RedisLeases;

  /** Opens the store whether Redis is there or not; while it is away calls reject within the command timeout. */
  static async open({
    url,
    commandTimeoutMs,
    clock,
    keyPrefix = 'pool:',
  }: RedisPoolStoreOptions): Promise<RedisPoolStore> {
    return new RedisPoolStore(await openRedisConnection(url, commandTimeoutMs), clock, keyPrefix);
  }

  private constructor(redis: Redis, clock: Clock, prefix: string) {
    this.#redis = redis;
    this.#verbs = new RedisVerbs(redis);
    this.#reads = new RedisReads(this.#verbs);
    this.#clock = clock;
    this.#keys = new RedisKeys(prefix);
    this.#seen = new SeenPools(clock);
    this.#requests = new RedisRequestBook(redis, this.#verbs, clock, this.#keys);
    this.#leases = new RedisLeases({
      verbs: this.#verbs,
      keys: this.#keys,
      clock,
      healths: this.#healths,
      poolHealths: this.#poolHealths,
    });
  }

  glanceAt(question: GlanceQuestion): PoolGlance | undefined {
    const seen = this.#seen.of(question);
    if (seen === undefined) return undefined;
    const { accounts, pool, boundAccountId, isFading } = seen;
    const take = (lease: NewLease, callerMemoryMs: number) =>
      this.#leases.takeAsSeen(lease, callerMemoryMs, { ...seen, affinityId: question.affinityId });
    return { accounts, poolHealth: pool.health, boundAccountId, isFading, take };
  }

  async readAccounts(accountIds: readonly string[], leaseTtlMs: number): Promise<readonly AccountRecord[]> {
    const oldestMs = this.#clock.nowMs() - leaseTtlMs;
    const records = accountIds.map(async (accountId): Promise<AccountRecord> => {
      const key = this.#keys.account(accountId).health;
      const [text, inFlight] = await Promise.all([
        this.#reads.text(key),
        this.#reads.leases(this.#keys.account(accountId).leases, oldestMs),
      ]);
      const record = { health: this.#healths.read(key, text), inFlight };
      this.#seen.noteAccount(accountId, text, record);
      return record;
    });
    return Promise.all(records);
  }

  async changeHealth(accountId: string, change: HealthChange): Promise<boolean> {
    const isChanged = await this.#change(this.#keys.account(accountId).health, change, {
      parsed: this.#healths,
      write: toStoredHealth,
      ttlMs: (health) => this.#healthTtlMs(health),
    });
    if (isChanged) this.#seen.noteChange({ accountId });
    return isChanged;
  }

  async readPool(pool: string): Promise<PoolHealth> {
    const key = this.#keys.pool(pool).health;
    const text = await this.#reads.text(key);
    const health = this.#poolHealths.read(key, text);
    this.#seen.notePool(pool, text, health);
    return health;
  }

  async changePoolHealth(pool: string, change: PoolHealthChange): Promise<boolean> {
    const isChanged = await this.#change(this.#keys.pool(pool).health, change, {
      parsed: this.#poolHealths,
      write: toStoredPoolHealth,
      ttlMs: ({ troubles }) => Math.max(1, ...troubles.map(forgottenTroubleAtMs)) - this.#clock.nowMs(),
    });
    if (isChanged) this.#seen.noteChange({ pool });
    return isChanged;
  }

  async takeLease(lease: NewLease): Promise<string | undefined> {
    return this.#leases.take(lease);
  }

  async renewLease(renewal: LeaseRenewal): Promise<void> {
    await this.#leases.renew(renewal);
  }

  async settleLease(accountId: string, request: EndedRequest): Promise<LeaseSettlement> {
    this.#seen.noteEnd(accountId);
    return this.#leases.settle(accountId, request);
  }

  async oldestRequest(question: SinceQuestion): Promise<number | undefined> {
    return this.#requests.oldest(question);
  }

  async shareOf(question: ShareQuestion): Promise<CallerShare> {
    return this.#requests.shareOf(question);
  }

  async boundAccount(affinityId: string): Promise<string | undefined> {
    const accountId = (await this.#reads.text(this.#keys.binding(affinityId))) ?? undefined;
    this.#seen.noteBinding(affinityId, accountId);
    return accountId;
  }

  async bind(affinityId: string, accountId: string, ttlMs: number): Promise<void> {
    this.#seen.noteBinding(affinityId, accountId);
    await this.#verbs.run('bind', [this.#keys.binding(affinityId)], [accountId, ttlMs]);
  }

  async unbind(affinityId: string, accountId: string): Promise<void> {
    this.#seen.noteBinding(affinityId, undefined);
    await this.#verbs.run('unbind', [this.#keys.binding(affinityId)], [accountId]);
  }

  async saveModelReport(report: ModelReport): Promise<void> {
    const key = this.#keys.models(report.pool);
    await this.#redis.multi().hset(key, toStoredReport(report)).pexpire(key, modelReportTtlMs).exec();
  }

  async readModelReports(pools: readonly string[]): Promise<readonly ModelReport[]> {
    const reports = pools.map(async (pool) =>
      fromStoredReport(pool, await this.#redis.hgetall(this.#keys.models(pool))),
    );
    return (await Promise.all(reports)).filter((report) => report !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redis.disconnect();
  }

  /** Changes of this process take turns, so that only other replicas can come in between. */
  #change<T>(key: string, change: (value: T) => T | undefined, stored: StoredValue<T>): Promise<boolean> {
    return this.#changes.run(key, () => this.#changeNow(key, change, stored));
  }

  async #changeNow<T>(key: string, change: (value: T) => T | undefined, stored: StoredValue<T>): Promise<boolean> {
    for (let tries = 0; tries < maxTries; tries++) {
      const text = await this.#reads.text(key);
      const value = stored.parsed.read(key, text);
      const next = change(value);
      if (next === undefined || next === value) return false;
      const ttlMs = Math.max(1, Math.ceil(stored.ttlMs(next)));
      if ((await this.#verbs.run('compare_and_set', [key], [text ?? '', stored.write(next), ttlMs])) === 1) return true;
    }
    throw new Error('A health changed too often to be changed.');
  }

  /** As long as it matters: a guessed cooldown counts for an hour more, errors fade within minutes. */
  #healthTtlMs(health: AccountHealth): number {
    const windowEnds = health.windows.map(({ resetsAtMs, seenAtMs }) => resetsAtMs ?? seenAtMs + 3_600_000);
    const cooldownEnds = health.cooldowns.map(forgottenAtMs);
    const problemEndMs = health.problem === undefined ? 0 : forgottenProblemAtMs(health.problem);
    return Math.max(...cooldownEnds, ...windowEnds, health.errorsAtMs + 3_600_000, problemEndMs) - this.#clock.nowMs();
  }
}

// Each try loses only to another replica that has just changed the same value.
const maxTries = 30;

/** How a value is kept. */
interface StoredValue<T> {
  readonly parsed: ParsedTexts<T>;
  readonly write: (value: T) => string;
  readonly ttlMs: (value: T) => number;
}
