import type { Clock } from '@gateway/time';
import type { ModelReport } from '../catalog/model-report.ts';
import { type AccountHealth, healthy } from '../health/account-health.ts';
import { type PoolHealth, untroubled } from '../health/pool-health.ts';
import type { CallerShare } from '../selection/fair-share.ts';
import type { Awaitable } from './awaitable.ts';
import { MemoryLeases } from './memory-leases.ts';
import { type MemoryLease, MemoryRequestBook } from './memory-request-book.ts';
import type { GlanceQuestion, PoolGlance } from './pool-glance.ts';
import type {
  AccountRecord,
  HealthChange,
  LeaseRenewal,
  LeaseSettlement,
  NewLease,
  PoolHealthChange,
  PoolStore,
} from './pool-store.ts';
import { RecentMap } from './recent-map.ts';
import type { EndedRequest, ShareQuestion, SinceQuestion } from './request-book.ts';

/** The pool store of a single process. */
export class MemoryPoolStore implements PoolStore {
  readonly #clock: Clock;
  readonly #accounts = new Map<string, AccountMemory>();
  readonly #pools = new Map<string, PoolHealth>();
  readonly #leases = new MemoryLeases((lease) => this.#onEnd(lease));
  readonly #requests: MemoryRequestBook;
  readonly #bindings: RecentMap<string>;
  readonly #reports = new Map<string, ModelReport>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#requests = new MemoryRequestBook(clock);
    this.#bindings = new RecentMap(clock, maxBindings);
  }

  glanceAt(_question: GlanceQuestion): PoolGlance | undefined {
    return undefined;
  }

  readAccounts(accountIds: readonly string[], leaseTtlMs: number): Awaitable<readonly AccountRecord[]> {
    this.#leases.runOut(this.#clock.nowMs() - leaseTtlMs);
    return accountIds.map((accountId) => {
      const { health, inFlight } = this.#account(accountId);
      return { health, inFlight };
    });
  }

  changeHealth(accountId: string, change: HealthChange): Awaitable<boolean> {
    const account = this.#account(accountId);
    const next = change(account.health);
    if (next === undefined || next === account.health) return false;
    account.health = next;
    return true;
  }

  readPool(pool: string): Awaitable<PoolHealth> {
    return this.#poolHealth(pool);
  }

  changePoolHealth(pool: string, change: PoolHealthChange): Awaitable<boolean> {
    const health = this.#poolHealth(pool);
    const next = change(health);
    if (next === undefined || next === health) return false;
    this.#pools.set(pool, next);
    return true;
  }

  takeLease(lease: NewLease): Awaitable<string | undefined> {
    const { accountId, leaseId, maxConcurrency, leaseTtlMs } = lease;
    const nowMs = this.#clock.nowMs();
    this.#leases.runOut(nowMs - leaseTtlMs);
    const isRepeated = leaseId !== undefined && this.#leases.isUnderWay(leaseId);
    if (!isRepeated && this.#account(accountId).inFlight >= maxConcurrency) return undefined;
    return this.#begin(lease, nowMs);
  }

  /** Takes a lease whatever the cap: another store decides on that. Gives its id. */
  noteLease(lease: NewLease): string {
    const nowMs = this.#clock.nowMs();
    this.#leases.runOut(nowMs - lease.leaseTtlMs);
    return this.#begin(lease, nowMs);
  }

  /** Drops a lease that was noted, and never given to anybody. */
  dropLease(leaseId: string): void {
    this.#leases.settle(leaseId, this.#clock.nowMs());
  }

  /** As `dropLease` when its account has more than `maxConcurrency` with it. False: it is gone. */
  keepLease(leaseId: string, { accountId, maxConcurrency }: NewLease): boolean {
    if (this.#account(accountId).inFlight <= maxConcurrency) return true;
    this.dropLease(leaseId);
    return false;
  }

  renewLease(renewal: LeaseRenewal): Awaitable<void> {
    const { leaseId, leaseTtlMs } = renewal;
    const nowMs = this.#clock.nowMs();
    this.#leases.runOut(nowMs - leaseTtlMs);
    if (!this.#leases.renew(leaseId, nowMs) && this.#leases.mayCountAgain(leaseId)) {
      // When its request began is not known: not of late.
      this.#begin(renewal, nowMs, nowMs - leaseTtlMs);
    }
  }

  /** As `renewLease`, of a lease that is known: whoever keeps the others counts them. */
  renewKnownLease({ leaseId, leaseTtlMs }: LeaseRenewal): void {
    const nowMs = this.#clock.nowMs();
    this.#leases.runOut(nowMs - leaseTtlMs);
    this.#leases.renew(leaseId, nowMs);
  }

  settleLease(accountId: string, { leaseId, pool }: EndedRequest): Awaitable<LeaseSettlement> {
    const end = this.#leases.settle(leaseId, this.#clock.nowMs());
    if (end === 'settled_before') return settledBefore;
    const { health } = this.#account(accountId);
    return { kind: 'settled', leasedAtMs: end.takenAtMs, health, poolHealth: this.#poolHealth(pool) };
  }

  oldestRequest(question: SinceQuestion): Awaitable<number | undefined> {
    return this.#requests.oldest(question);
  }

  shareOf(question: ShareQuestion): Awaitable<CallerShare> {
    this.#leases.runOut(this.#clock.nowMs() - question.leaseTtlMs);
    return this.#requests.shareOf(question);
  }

  boundAccount(affinityId: string): Awaitable<string | undefined> {
    return this.#bindings.get(affinityId);
  }

  bind(affinityId: string, accountId: string, ttlMs: number): Awaitable<void> {
    const bound = this.#bindings.get(affinityId);
    if (bound === undefined || bound === accountId) this.#bindings.set(affinityId, accountId, ttlMs);
  }

  unbind(affinityId: string, accountId: string): Awaitable<void> {
    if (this.#bindings.get(affinityId) === accountId) this.#bindings.delete(affinityId);
  }

  async saveModelReport(report: ModelReport): Promise<void> {
    this.#reports.set(report.pool, { ...report, models: report.models ?? this.#reports.get(report.pool)?.models });
  }

  async readModelReports(pools: readonly string[]): Promise<readonly ModelReport[]> {
    return pools.map((pool) => this.#reports.get(pool)).filter((report) => report !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #begin(wanted: NewLease | LeaseRenewal, nowMs: number, takenAtMs?: number): string {
    const { accountId, caller, leaseId } = wanted;
    const lease = this.#leases.begin(caller, nowMs, leaseId, takenAtMs);
    const account = this.#account(accountId);
    account.inFlight += 1;
    lease.account = account;
    this.#requests.begin(lease, wanted);
    return lease.id;
  }

  #onEnd(lease: MemoryLease): void {
    if (lease.account !== undefined) lease.account.inFlight -= 1;
    this.#requests.end(lease);
  }

  #account(accountId: string): AccountMemory {
    let account = this.#accounts.get(accountId);
    if (account === undefined) {
      account = { health: healthy, inFlight: 0 };
      this.#accounts.set(accountId, account);
    }
    return account;
  }

  #poolHealth(pool: string): PoolHealth {
    return this.#pools.get(pool) ?? untroubled;
  }
}

interface AccountMemory {
  health: AccountHealth;
  /** Its leases under way. */
  inFlight: number;
}

const settledBefore: LeaseSettlement = { kind: 'settled_before' };

// A session costs some 200 bytes: this bounds what clients that make up sessions can cost.
const maxBindings = 100_000;
