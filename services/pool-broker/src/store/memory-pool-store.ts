import { randomBytes } from 'node:crypto';
import type { Clock } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import type { ModelReport } from '../catalog/model-report.ts';
import { type AccountHealth, healthy } from '../health/account-health.ts';
import { type PoolHealth, untroubled } from '../health/pool-health.ts';
import { leaseIdOf } from './lease-id.ts';
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

/** The pool store of a single process. */
export class MemoryPoolStore implements PoolStore {
  readonly #clock: Clock;
  readonly #accounts = new Map<string, AccountState>();
  readonly #pools = new Map<string, PoolState>();
  /** The leases in flight, by when they were taken, or renewed last. */
  readonly #leases = new MapByAge<Lease>();
  /** Tells the lease ids of this store from those of every other. */
  readonly #idPrefix = `${randomBytes(12).toString('base64url')}-`;
  #idsGiven = 0;
  /** Leases of this store that expired. The first report on such a lease counts, however late. */
  readonly #expired = new LRUCache<string, true>({ max: 20_000 });
  /** When leases were settled whose ids another store gave. */
  readonly #foreignSettled = new LRUCache<string, number>({ max: 50_000 });
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

  async takeLease(lease: NewLease): Promise<string | undefined> {
    this.#expireLeases(lease.leaseTtlMs);
    const { accountId, caller, maxConcurrency, leaseId = this.newLeaseId(caller) } = lease;
    if (this.hasLease(leaseId)) return leaseId;
    if (this.#account(accountId).inFlight >= maxConcurrency) return undefined;
    this.#begin(leaseId, lease, this.#clock.nowMs());
    return leaseId;
  }

  /** An id that no other lease has, in any process. */
  newLeaseId(caller: string): string {
    this.#idsGiven += 1;
    return leaseIdOf(`${this.#idPrefix}${this.#idsGiven}`, caller);
  }

  hasLease(leaseId: string): boolean {
    return this.#leases.get(leaseId) !== undefined;
  }

  async renewLease(renewal: LeaseRenewal): Promise<void> {
    const { leaseId, leaseTtlMs } = renewal;
    this.#expireLeases(leaseTtlMs);
    const nowMs = this.#clock.nowMs();
    const lease = this.#leases.get(leaseId);
    if (lease !== undefined) this.#leases.set(leaseId, lease, nowMs);
    // The begin of such a request is not known: it was not recently.
    else if (this.#mayCountAgain(leaseId)) this.#begin(leaseId, renewal, nowMs - leaseTtlMs);
  }

  async settleLease(accountId: string, { leaseId, pool }: EndedRequest): Promise<LeaseSettlement> {
    const lease = this.#leases.get(leaseId);
    if (lease === undefined && !this.#mayCountAgain(leaseId)) return { kind: 'settled_before' };
    if (lease !== undefined) this.#end(lease);
    this.#expired.delete(leaseId);
    if (!this.#isOwn(leaseId)) this.#foreignSettled.set(leaseId, this.#clock.nowMs());
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
    callers.set(caller, caller, nowMs);
    callers.takeOld(nowMs - callerMemoryMs, maxCallers);
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

  /** Whether a lease that is not in flight may count again: it expired, or another store gave its id and it was not settled here. */
  #mayCountAgain(leaseId: string): boolean {
    if (this.#isOwn(leaseId)) return this.#expired.has(leaseId);
    return (this.#foreignSettled.get(leaseId) ?? Number.NEGATIVE_INFINITY) <= this.#clock.nowMs() - settledMemoryMs;
  }

  #isOwn(leaseId: string): boolean {
    return leaseId.startsWith(this.#idPrefix);
  }

  #begin(id: string, { accountId, pool, model, caller }: NewLease | LeaseRenewal, takenAtMs: number): void {
    this.#leases.set(id, { id, accountId, pool, model, caller, takenAtMs }, this.#clock.nowMs());
    this.#expired.delete(id);
    this.#account(accountId).inFlight += 1;
    const { inFlight } = this.#pool(pool);
    if (caller !== '') inFlight.set(caller, (inFlight.get(caller) ?? 0) + 1);
  }

  #end({ id, accountId, pool, caller }: Lease): void {
    this.#leases.delete(id);
    this.#account(accountId).inFlight -= 1;
    const { inFlight } = this.#pool(pool);
    const left = (inFlight.get(caller) ?? 0) - 1;
    if (left > 0) inFlight.set(caller, left);
    else inFlight.delete(caller);
  }

  #expireLeases(leaseTtlMs: number): void {
    for (const lease of this.#leases.takeOld(this.#clock.nowMs() - leaseTtlMs)) {
      this.#end(lease);
      if (this.#isOwn(lease.id)) this.#expired.set(lease.id, true);
    }
  }

  #account(accountId: string): AccountState {
    const account = this.#accounts.get(accountId) ?? { health: healthy, inFlight: 0 };
    this.#accounts.set(accountId, account);
    return account;
  }

  #pool(name: string): PoolState {
    const pool = this.#pools.get(name) ?? { health: untroubled, callers: new MapByAge(), inFlight: new Map() };
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
  /** Those that want something of the pool, by when they last asked. */
  readonly callers: MapByAge<string>;
  /** Requests of each caller in flight. */
  readonly inFlight: Map<string, number>;
}

interface Lease extends PoolRequest {
  readonly id: string;
  readonly accountId: string;
  readonly takenAtMs: number;
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

/** Values in the order in which they were set last. */
class MapByAge<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly atMs: number }>();
  /** No entry is older: most calls for old ones need not look at any. */
  #oldestMs = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  *values(): Generator<V> {
    for (const { value } of this.#entries.values()) yield value;
  }

  set(key: string, value: V, atMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, atMs });
    this.#oldestMs = Math.min(this.#oldestMs, atMs);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Removes and returns what was set at a time or before it, and the oldest of what is more than `most`. */
  takeOld(atMs: number, most = Number.POSITIVE_INFINITY): readonly V[] {
    const taken: V[] = [];
    if (atMs < this.#oldestMs && this.size <= most) return taken;
    this.#oldestMs = Number.POSITIVE_INFINITY;
    for (const [key, entry] of this.#entries) {
      if (entry.atMs > atMs && this.size <= most) {
        this.#oldestMs = entry.atMs;
        break;
      }
      this.#entries.delete(key);
      taken.push(entry.value);
    }
    return taken;
  }
}
