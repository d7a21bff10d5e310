import type { Clock } from '@gateway/time';
import type { ModelReport } from '../catalog/model-report.ts';
import { type AccountHealth, healthy } from '../health/account-health.ts';
import { type PoolHealth, untroubled } from '../health/pool-health.ts';
import type { CallerShare } from '../selection/fair-share.ts';
import type { Awaitable } from './awaitable.ts';
import { ChainedMap } from './chained-map.ts';
import { dropOlder } from './drop-older.ts';
import { MemoryRequestBook } from './memory-request-book.ts';
import {
  type AccountRecord,
  type HealthChange,
  type LeaseSettlement,
  type NewLease,
  type PoolHealthChange,
  type PoolStore,
  settledMemoryMs,
} from './pool-store.ts';
import { RecentMap } from './recent-map.ts';
import type { EndedRequest, ShareQuestion, SinceQuestion } from './request-book.ts';

/** The pool store of a single process. */
export class MemoryPoolStore implements PoolStore {
  readonly #clock: Clock;
  readonly #accounts = new Map<string, AccountMemory>();
  readonly #pools = new Map<string, PoolHealth>();
  readonly #requests: MemoryRequestBook;
  readonly #bindings: RecentMap<string>;
  readonly #reports = new Map<string, ModelReport>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#requests = new MemoryRequestBook(clock);
    this.#bindings = new RecentMap(clock, maxBindings);
  }

  readAccounts(accountIds: readonly string[], leaseTtlMs: number): Awaitable<ReadonlyMap<string, AccountRecord>> {
    return new Map(
      accountIds.map((accountId) => {
        const account = this.#account(accountId);
        dropOlder(account.leases, this.#clock.nowMs() - leaseTtlMs);
        return [accountId, { health: account.health, inFlight: account.leases.size }];
      }),
    );
  }

  async changeHealth(accountId: string, change: HealthChange): Promise<boolean> {
    const account = this.#account(accountId);
    const next = change(account.health);
    if (next === undefined || next === account.health) return false;
    account.health = next;
    return true;
  }

  readPools(pools: readonly string[]): Awaitable<ReadonlyMap<string, PoolHealth>> {
    return new Map(pools.map((pool) => [pool, this.#pools.get(pool) ?? untroubled]));
  }

  async changePoolHealth(pool: string, change: PoolHealthChange): Promise<boolean> {
    const health = this.#pools.get(pool) ?? untroubled;
    const next = change(health);
    if (next === undefined || next === health) return false;
    this.#pools.set(pool, next);
    return true;
  }

  takeLease(lease: NewLease): Awaitable<boolean> {
    const { accountId, leaseId, maxConcurrency, leaseTtlMs } = lease;
    const { leases } = this.#account(accountId);
    const nowMs = this.#clock.nowMs();
    dropOlder(leases, nowMs - leaseTtlMs);
    if (!leases.has(leaseId) && leases.size >= maxConcurrency) return false;
    leases.set(leaseId, nowMs);
    this.#requests.begin(lease);
    return true;
  }

  settleLease(accountId: string, request: EndedRequest): Awaitable<LeaseSettlement> {
    const { leaseId, pool } = request;
    const { leases, settled, health } = this.#account(accountId);
    const nowMs = this.#clock.nowMs();
    dropOlder(settled, nowMs - settledMemoryMs);
    if (settled.has(leaseId)) return { kind: 'settled_before' };
    const leasedAtMs = leases.get(leaseId);
    settled.set(leaseId, nowMs);
    leases.delete(leaseId);
    this.#requests.end(request);
    return { kind: 'settled', leasedAtMs, health, poolHealth: this.#pools.get(pool) ?? untroubled };
  }

  async oldestRequest(question: SinceQuestion): Promise<number | undefined> {
    return this.#requests.oldest(question);
  }

  shareOf(question: ShareQuestion): Awaitable<CallerShare> {
    return this.#requests.shareOf(question);
  }

  boundAccount(affinityId: string): Awaitable<string | undefined> {
    return this.#bindings.get(affinityId);
  }

  async bind(affinityId: string, accountId: string, ttlMs: number): Promise<void> {
    const bound = this.#bindings.get(affinityId);
    if (bound === undefined || bound === accountId) this.#bindings.set(affinityId, accountId, ttlMs);
  }

  async unbind(affinityId: string, accountId: string): Promise<void> {
    if (this.#bindings.get(affinityId) === accountId) this.#bindings.delete(affinityId);
  }

  async saveModelReport(report: ModelReport): Promise<void> {
    this.#reports.set(report.pool, { ...report, models: report.models ?? this.#reports.get(report.pool)?.models });
  }

  async readModelReports(pools: readonly string[]): Promise<readonly ModelReport[]> {
    return pools.map((pool) => this.#reports.get(pool)).filter((report) => report !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #account(accountId: string): AccountMemory {
    let account = this.#accounts.get(accountId);
    if (account === undefined) {
      account = { health: healthy, leases: new ChainedMap(), settled: new ChainedMap() };
      this.#accounts.set(accountId, account);
    }
    return account;
  }
}

interface AccountMemory {
  health: AccountHealth;
  /** Lease ids with when they were taken, oldest first. */
  readonly leases: ChainedMap<number>;
  /** Lease ids with when they were settled, oldest first. */
  readonly settled: ChainedMap<number>;
}

// A session costs some 200 bytes: this bounds what clients that make up sessions can cost.
const maxBindings = 100_000;
