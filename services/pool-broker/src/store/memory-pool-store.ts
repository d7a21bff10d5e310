import type { Clock } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import type { ModelReport } from '../catalog/list-models.ts';
import { type AccountHealth, healthy } from '../health/account-health.ts';
import { noIncidents, type PoolHealth } from '../health/pool-health.ts';
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
  type PoolStore,
  type ShareQuestion,
  type SinceQuestion,
} from './pool-store.ts';

/** The pool store of a single process. */
export class MemoryPoolStore implements PoolStore {
  readonly #clock: Clock;
  readonly #accounts = new Map<string, AccountState>();
  readonly #pools = new Map<string, PoolState>();
  /** The leases in flight, in the order in which they were taken, or renewed last. */
  readonly #leases = new Map<string, Lease>();
  /** The leases that were settled last, so that a repeated report is recognized. */
  readonly #settled = new LRUCache<string, true>({ max: 100_000 });
  // A session costs some 200 bytes: the bound limits what clients that make up sessions can cost.
  readonly #bindings = new LRUCache<string, Binding>({ max: 100_000 });
  readonly #reports = new Map<string, ModelReport>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async readAccounts(accountIds: readonly string[], leaseTtlMs: number): Promise<readonly AccountRecord[]> {
    this.#expireLeases(leaseTtlMs);
    return accountIds.map((accountId) => ({ ...this.#account(accountId) }));
  }

  async changeHealth(accountId: string, change: HealthChange): Promise<boolean> {
    return changeHealthOf(this.#account(accountId), change);
  }

  async readPool(pool: string): Promise<PoolHealth> {
    return this.#pool(pool).health;
  }

  async changePoolHealth(pool: string, change: PoolHealthChange): Promise<boolean> {
    return changeHealthOf(this.#pool(pool), change);
  }

  async takeLease(lease: NewLease): Promise<boolean> {
    this.#expireLeases(lease.leaseTtlMs);
    if (this.hasLease(lease.leaseId)) return true;
    if (this.#account(lease.accountId).inFlight >= lease.maxConcurrency) return false;
    this.#begin(lease, this.#clock.nowMs());
    return true;
  }

  hasLease(leaseId: string): boolean {
    return this.#leases.has(leaseId);
  }

  async renewLease(renewal: LeaseRenewal): Promise<void> {
    const { leaseId, leaseTtlMs } = renewal;
    this.#expireLeases(leaseTtlMs);
    const nowMs = this.#clock.nowMs();
    const lease = this.#leases.get(leaseId);
    if (lease !== undefined) putLast(this.#leases, leaseId, { ...lease, seenAtMs: nowMs });
    // The begin of such a request is not known: it was not recently.
    else if (!this.#settled.has(leaseId)) this.#begin(renewal, nowMs - leaseTtlMs);
  }

  async settleLease(accountId: string, { leaseId, pool }: EndedRequest): Promise<LeaseSettlement> {
    if (this.#settled.has(leaseId)) return { kind: 'settled_before' };
    this.#settled.set(leaseId, true);
    const lease = this.#leases.get(leaseId);
    if (lease !== undefined) this.#end(lease);
    const [{ health }, { health: poolHealth }] = [this.#account(accountId), this.#pool(pool)];
    return { kind: 'settled', leasedAtMs: lease?.takenAtMs, health, poolHealth };
  }

  async oldestRequest({ pool, model, sinceMs }: SinceQuestion): Promise<number | undefined> {
    let oldest: number | undefined;
    for (const lease of this.#leases.values()) {
      if (lease.pool !== pool || (model !== '' && lease.model !== model) || lease.takenAtMs < sinceMs) continue;
      oldest = Math.min(oldest ?? lease.takenAtMs, lease.takenAtMs);
    }
    return oldest;
  }

  async shareOf({ pool, caller, leaseTtlMs, callerMemoryMs }: ShareQuestion): Promise<CallerShare> {
    this.#expireLeases(leaseTtlMs);
    const { callers, inFlight } = this.#pool(pool);
    const nowMs = this.#clock.nowMs();
    putLast(callers, caller, nowMs);
    for (const [other, askedAtMs] of callers) {
      if (askedAtMs > nowMs - callerMemoryMs && callers.size <= maxCallers) break;
      callers.delete(other);
    }
    return { inFlight: inFlight.get(caller) ?? 0, callers: callers.size };
  }

  async boundAccount(affinityId: string): Promise<string | undefined> {
    const binding = this.#bindings.get(affinityId);
    return binding !== undefined && this.#clock.nowMs() < binding.endsAtMs ? binding.accountId : undefined;
  }

  async bind(affinityId: string, accountId: string, ttlMs: number): Promise<void> {
    const bound = await this.boundAccount(affinityId);
    if (bound !== undefined && bound !== accountId) return;
    this.#bindings.set(affinityId, { accountId, endsAtMs: this.#clock.nowMs() + ttlMs });
  }

  async unbind(affinityId: string, accountId: string): Promise<void> {
    if (this.#bindings.get(affinityId)?.accountId === accountId) this.#bindings.delete(affinityId);
  }

  async saveModelReport(report: ModelReport): Promise<void> {
    this.#reports.set(report.pool, { ...report, models: report.models ?? this.#reports.get(report.pool)?.models });
  }

  async readModelReports(pools: readonly string[]): Promise<readonly ModelReport[]> {
    return pools.map((pool) => this.#reports.get(pool)).filter((report) => report !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #begin({ leaseId, accountId, pool, model, caller }: LeaseRenewal, takenAtMs: number): void {
    this.#leases.set(leaseId, { leaseId, accountId, pool, model, caller, takenAtMs, seenAtMs: this.#clock.nowMs() });
    this.#account(accountId).inFlight += 1;
    const { inFlight } = this.#pool(pool);
    if (caller !== '') inFlight.set(caller, (inFlight.get(caller) ?? 0) + 1);
  }

  #end({ leaseId, accountId, pool, caller }: Lease): void {
    this.#leases.delete(leaseId);
    this.#account(accountId).inFlight -= 1;
    const { inFlight } = this.#pool(pool);
    const rest = (inFlight.get(caller) ?? 0) - 1;
    if (rest > 0) inFlight.set(caller, rest);
    else inFlight.delete(caller);
  }

  #expireLeases(leaseTtlMs: number): void {
    const nowMs = this.#clock.nowMs();
    for (const lease of this.#leases.values()) {
      if (lease.seenAtMs > nowMs - leaseTtlMs) break;
      this.#end(lease);
    }
  }

  #account(accountId: string): AccountState {
    const account = this.#accounts.get(accountId) ?? { health: healthy, inFlight: 0 };
    this.#accounts.set(accountId, account);
    return account;
  }

  #pool(name: string): PoolState {
    const pool = this.#pools.get(name) ?? { health: noIncidents, callers: new Map(), inFlight: new Map() };
    this.#pools.set(name, pool);
    return pool;
  }
}

interface AccountState {
  health: AccountHealth;
  inFlight: number;
}

interface PoolState {
  health: PoolHealth;
  /** When each caller last asked for something of the pool, in that order. */
  readonly callers: Map<string, number>;
  /** Requests of each caller in flight. */
  readonly inFlight: Map<string, number>;
}

interface Lease extends EndedRequest {
  readonly accountId: string;
  readonly takenAtMs: number;
  /** When it was taken, or renewed last. */
  readonly seenAtMs: number;
}

interface Binding {
  readonly accountId: string;
  readonly endsAtMs: number;
}

function changeHealthOf<T>(state: { health: T }, change: (health: T) => T | undefined): boolean {
  const next = change(state.health);
  if (next === undefined || next === state.health) return false;
  state.health = next;
  return true;
}

function putLast<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
}
