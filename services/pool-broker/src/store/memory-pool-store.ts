import { epochMs } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import type { ModelReport } from '../catalog/list-models.ts';
import { type AccountHealth, healthy } from '../health/account-health.ts';
import { noIncidents, type PoolHealth } from '../health/pool-health.ts';
import {
  type AccountRecord,
  type CallerShare,
  type Change,
  type LeaseRenewal,
  maxCallers,
  type NewLease,
  type PoolQuestion,
  type PoolRequest,
  type PoolStore,
  type PoolView,
  type ShareQuestion,
  type SinceQuestion,
} from './pool-store.ts';

/** The pool store of a single process. */
export class MemoryPoolStore implements PoolStore {
  readonly nowMs: () => number;
  readonly #accounts = new Map<string, AccountHealth>();
  readonly #pools = new Map<string, PoolHealth>();
  readonly #reports = new Map<string, ModelReport>();
  /** The leases in flight, in the order in which they were taken or last renewed. */
  readonly #leases = new Map<string, Lease>();
  /** The number of leases of each account, and of each caller in a pool. */
  readonly #inFlight = new Map<string, number>();
  /** The leases that were settled last, so that a repeated report is recognised. */
  readonly #settled = new LRUCache<string, true>(bounded);
  /** For each pool, when each caller last asked for a lease, in that order. */
  readonly #callers = new Map<string, Map<string, number>>();
  /** The account of each session. Bounded, because clients may make up sessions. */
  readonly #bindings: LRUCache<string, string>;

  /** @param nowMs its time, if it stands for a store with another one */
  constructor(nowMs: () => number = epochMs) {
    this.nowMs = nowMs;
    this.#bindings = new LRUCache({ ...bounded, ttlResolution: 0, perf: { now: nowMs } });
  }

  async readPoolView(question: PoolQuestion): Promise<PoolView> {
    const { accountIds, pool, affinityId, caller } = question;
    this.#expireLeases(question.leaseTtlMs);
    return {
      accounts: this.#recordsOf(accountIds),
      poolHealth: this.#pools.get(pool) ?? noIncidents,
      boundAccountId: affinityId === '' ? undefined : this.#bindings.get(affinityId),
      callerShare: caller === '' ? undefined : this.#shareOf(question),
    };
  }

  async readAccounts(accountIds: readonly string[], leaseTtlMs: number) {
    this.#expireLeases(leaseTtlMs);
    return this.#recordsOf(accountIds);
  }

  async changeHealth(accountId: string, change: Change<AccountHealth>) {
    return changeIn(this.#accounts, accountId, healthy, change);
  }

  async readPool(pool: string) {
    return this.#pools.get(pool) ?? noIncidents;
  }

  async changePoolHealth(pool: string, change: Change<PoolHealth>) {
    return changeIn(this.#pools, pool, noIncidents, change);
  }

  async takeLease(lease: NewLease) {
    this.#expireLeases(lease.leaseTtlMs);
    if (this.hasLease(lease.leaseId)) return true;
    if ((this.#inFlight.get(lease.accountId) ?? 0) >= lease.maxConcurrency) return false;
    const ofCaller = this.#inFlight.get(callerKey(lease.pool, lease.caller)) ?? 0;
    if (ofCaller >= (lease.maxPerCaller ?? Number.POSITIVE_INFINITY)) return false;
    this.#begin(lease, this.nowMs());
    return true;
  }

  hasLease(leaseId: string): boolean {
    return this.#leases.has(leaseId);
  }

  /**
   * Ends the oldest leases of an account beyond this number. The replica that learned that they had
   * ended is another one.
   */
  limitLeases(accountId: string, most: number): void {
    const surplus = (this.#inFlight.get(accountId) ?? 0) - most;
    if (surplus <= 0) return;
    const ofAccount = this.#leases.values().filter((lease) => lease.accountId === accountId);
    for (const lease of ofAccount.take(surplus).toArray()) this.#end(lease);
  }

  async renewLease(renewal: LeaseRenewal) {
    const { leaseId, leaseTtlMs } = renewal;
    this.#expireLeases(leaseTtlMs);
    if (this.#settled.has(leaseId)) return;
    const known = this.#leases.get(leaseId);
    if (known !== undefined) this.#end(known);
    // The start of an unknown request is unknown, but it is not recent.
    this.#begin(renewal, known?.takenAtMs ?? this.nowMs() - leaseTtlMs);
  }

  async settleLease(accountId: string, { leaseId, pool }: PoolRequest) {
    if (this.#settled.has(leaseId)) return undefined;
    this.#settled.set(leaseId, true);
    const lease = this.#leases.get(leaseId);
    if (lease !== undefined) this.#end(lease);
    const health = this.#accounts.get(accountId) ?? healthy;
    return { leasedAtMs: lease?.takenAtMs, health, poolHealth: this.#pools.get(pool) ?? noIncidents };
  }

  async oldestRequest({ pool, model, sinceMs }: SinceQuestion) {
    const times = this.#leases
      .values()
      .filter((lease) => lease.pool === pool && (model === '' || lease.model === model) && lease.takenAtMs >= sinceMs)
      .map(({ takenAtMs }) => takenAtMs);
    const oldestMs = times.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
    return Number.isFinite(oldestMs) ? oldestMs : undefined;
  }

  async shareOf(question: ShareQuestion) {
    this.#expireLeases(question.leaseTtlMs);
    return this.#shareOf(question);
  }

  async boundAccount(affinityId: string) {
    return this.#bindings.get(affinityId);
  }

  async bind(affinityId: string, accountId: string, ttlMs: number) {
    const bound = this.#bindings.get(affinityId) ?? accountId;
    // The cache keeps an entry until its TTL is exceeded.
    if (bound === accountId) this.#bindings.set(affinityId, accountId, { ttl: ttlMs - 1 });
  }

  async unbind(affinityId: string, accountId: string) {
    if (this.#bindings.get(affinityId) === accountId) this.#bindings.delete(affinityId);
  }

  async saveModelReport(report: ModelReport) {
    this.#reports.set(report.pool, { ...report, models: report.models ?? this.#reports.get(report.pool)?.models });
  }

  async readModelReports(pools: readonly string[]) {
    return pools.map((pool) => this.#reports.get(pool)).filter((report) => report !== undefined);
  }

  async [Symbol.asyncDispose]() {}

  #recordsOf(accountIds: readonly string[]): readonly AccountRecord[] {
    return accountIds.map((id) => ({
      health: this.#accounts.get(id) ?? healthy,
      inFlight: this.#inFlight.get(id) ?? 0,
    }));
  }

  #shareOf({ pool, caller, callerMemoryMs }: ShareQuestion): CallerShare {
    const callers = this.#callers.getOrInsertComputed(pool, () => new Map());
    const nowMs = this.nowMs();
    callers.delete(caller);
    callers.set(caller, nowMs);
    for (const [other, askedAtMs] of callers) {
      if (askedAtMs > nowMs - callerMemoryMs && callers.size <= maxCallers) break;
      callers.delete(other);
    }
    return { inFlight: this.#inFlight.get(callerKey(pool, caller)) ?? 0, callers: callers.size };
  }

  #begin({ leaseId, accountId, pool, model, caller }: LeaseRenewal, takenAtMs: number): void {
    const lease = { leaseId, accountId, pool, model, caller, takenAtMs, seenAtMs: this.nowMs() };
    this.#leases.set(leaseId, lease);
    this.#count(lease, 1);
  }

  #end(lease: Lease): void {
    this.#leases.delete(lease.leaseId);
    this.#count(lease, -1);
  }

  #count({ accountId, pool, caller }: Lease, change: 1 | -1): void {
    for (const key of caller === '' ? [accountId] : [accountId, callerKey(pool, caller)]) {
      const count = (this.#inFlight.get(key) ?? 0) + change;
      if (count > 0) this.#inFlight.set(key, count);
      else this.#inFlight.delete(key);
    }
  }

  #expireLeases(leaseTtlMs: number): void {
    const expiredMs = this.nowMs() - leaseTtlMs;
    for (const lease of this.#leases.values()) {
      if (lease.seenAtMs > expiredMs) break;
      this.#end(lease);
    }
  }
}

// Bounded by size instead of `max`, because `max` allocates all memory up front.
const bounded = { maxSize: 100_000, sizeCalculation: () => 1 };

interface Lease extends PoolRequest {
  readonly accountId: string;
  readonly takenAtMs: number;
  /** When it was taken or last renewed. */
  readonly seenAtMs: number;
}

/** Account ids contain no line break. */
function callerKey(pool: string, caller: string): string {
  return `${pool}\n${caller}`;
}

function changeIn<T>(values: Map<string, T>, key: string, empty: T, change: Change<T>): boolean {
  const value = values.get(key) ?? empty;
  const next = change(value);
  if (next === undefined || next === value) return false;
  values.set(key, next);
  return true;
}
