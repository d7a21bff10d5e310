import type { Clock } from '@gateway/time';
import type { ModelReport } from '../catalog/model-report.ts';
import { mergeHealth } from '../health/account-health.ts';
import type { PoolHealth } from '../health/pool-health.ts';
import type { CallerShare } from '../selection/fair-share.ts';
import type { Awaitable } from './awaitable.ts';
import { MemoryPoolStore } from './memory-pool-store.ts';
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
import type { EndedRequest, ShareQuestion, SinceQuestion } from './request-book.ts';

/**
 * A shared store that may go away. What is read and written passes through this process's memory too; while the shared store
 * does not answer, the memory does, and after a failure the shared store is left alone for a second, so that only one call in
 * a chain waits for it. Health that changed meanwhile is merged into the shared store once it is back.
 */
export class FallbackPoolStore implements PoolStore {
  readonly #shared: PoolStore;
  readonly #memory: MemoryPoolStore;
  readonly #clock: Clock;
  readonly #onFallback: (thrown: unknown) => void;
  readonly #changedAlone = new Set<string>();
  /** Pools that are being looked at. */
  readonly #looking = new Set<string>();
  #awayUntilMs = Number.NEGATIVE_INFINITY;

  constructor(shared: PoolStore, clock: Clock, onFallback: (thrown: unknown) => void) {
    this.#shared = shared;
    this.#memory = new MemoryPoolStore(clock);
    this.#clock = clock;
    this.#onFallback = onFallback;
  }

  glanceAt(question: GlanceQuestion): PoolGlance | undefined {
    const glance = this.#isAway() ? undefined : this.#shared.glanceAt(question);
    if (glance === undefined) return undefined;
    return {
      ...glance,
      take: (lease, callerMemoryMs) => {
        if (glance.isFading) this.#lookAgain(question, lease.leaseTtlMs);
        if (lease.caller !== '') void this.#memory.shareOf({ ...lease, callerMemoryMs });
        return this.#takeShared(lease, (named) => glance.take(named, callerMemoryMs));
      },
    };
  }

  async readAccounts(accountIds: readonly string[], leaseTtlMs: number): Promise<readonly AccountRecord[]> {
    return this.#sharedOr(
      async () => {
        if (this.#changedAlone.size > 0) await this.#tellWhatChangedAlone();
        const records = await this.#shared.readAccounts(accountIds, leaseTtlMs);
        // Memory has changed when the call returns.
        records.forEach(({ health }, at) => void this.#memory.changeHealth(accountIds[at] ?? '', () => health));
        return records;
      },
      () => this.#memory.readAccounts(accountIds, leaseTtlMs),
    );
  }

  async changeHealth(accountId: string, change: HealthChange): Promise<boolean> {
    return this.#sharedOr(
      () => this.#shared.changeHealth(accountId, change),
      async () => {
        const changed = await this.#memory.changeHealth(accountId, change);
        if (changed) this.#changedAlone.add(accountId);
        return changed;
      },
    );
  }

  /** Troubles of a pool last seconds: what each replica learns of them alone is not worth merging. */
  async readPool(pool: string): Promise<PoolHealth> {
    return this.#sharedOr(
      async () => {
        const health = await this.#shared.readPool(pool);
        void this.#memory.changePoolHealth(pool, () => health);
        return health;
      },
      () => this.#memory.readPool(pool),
    );
  }

  async changePoolHealth(pool: string, change: PoolHealthChange): Promise<boolean> {
    return this.#sharedOr(
      () => this.#shared.changePoolHealth(pool, change),
      () => this.#memory.changePoolHealth(pool, change),
    );
  }

  async takeLease(lease: NewLease): Promise<string | undefined> {
    return this.#isAway()
      ? this.#memory.takeLease(lease)
      : this.#takeShared(lease, (named) => this.#shared.takeLease(named));
  }

  /** Under an id of the memory's, which needs to remember nothing of its own leases. */
  async #takeShared(
    lease: NewLease,
    take: (named: NewLease) => Awaitable<string | undefined>,
  ): Promise<string | undefined> {
    const leaseId = this.#memory.noteLease(lease);
    const isTaken = await this.#sharedOr(
      async () => {
        if ((await take({ ...lease, leaseId })) !== undefined) return true;
        this.#memory.dropLease(leaseId);
        return false;
      },
      () => this.#memory.keepLease(leaseId, lease),
    );
    return isTaken ? leaseId : undefined;
  }

  /** What glances showed is asked for all the same, once at a time, before it is too old: for further ones, and for when nobody answers. */
  #lookAgain({ pool, accountIds }: GlanceQuestion, leaseTtlMs: number): void {
    if (this.#looking.has(pool)) return;
    this.#looking.add(pool);
    void Promise.all([this.readAccounts(accountIds, leaseTtlMs), this.readPool(pool)]).finally(() =>
      this.#looking.delete(pool),
    );
  }

  /** With the memory alone it counts leases of other replicas as well, as far as it hears of them. */
  async renewLease(renewal: LeaseRenewal): Promise<void> {
    this.#memory.renewKnownLease(renewal);
    await this.#sharedOr(
      () => this.#shared.renewLease(renewal),
      () => this.#memory.renewLease(renewal),
    );
  }

  async settleLease(accountId: string, request: EndedRequest): Promise<LeaseSettlement> {
    const alone = await this.#memory.settleLease(accountId, request);
    if (alone.kind === 'settled_before') return alone;
    return this.#sharedOr(
      () => this.#shared.settleLease(accountId, request),
      () => alone,
    );
  }

  async oldestRequest(question: SinceQuestion): Promise<number | undefined> {
    return this.#sharedOr(
      () => this.#shared.oldestRequest(question),
      () => this.#memory.oldestRequest(question),
    );
  }

  async shareOf(question: ShareQuestion): Promise<CallerShare> {
    const alone = await this.#memory.shareOf(question);
    return this.#sharedOr(
      () => this.#shared.shareOf(question),
      () => alone,
    );
  }

  async boundAccount(affinityId: string): Promise<string | undefined> {
    return this.#sharedOr(
      () => this.#shared.boundAccount(affinityId),
      () => this.#memory.boundAccount(affinityId),
    );
  }

  async bind(affinityId: string, accountId: string, ttlMs: number): Promise<void> {
    await this.#memory.bind(affinityId, accountId, ttlMs);
    await this.#sharedOr(() => this.#shared.bind(affinityId, accountId, ttlMs), nothing);
  }

  async unbind(affinityId: string, accountId: string): Promise<void> {
    await this.#memory.unbind(affinityId, accountId);
    await this.#sharedOr(() => this.#shared.unbind(affinityId, accountId), nothing);
  }

  async saveModelReport(report: ModelReport): Promise<void> {
    await this.#memory.saveModelReport(report);
    await this.#sharedOr(() => this.#shared.saveModelReport(report), nothing);
  }

  async readModelReports(pools: readonly string[]): Promise<readonly ModelReport[]> {
    return this.#sharedOr(
      () => this.#shared.readModelReports(pools),
      () => this.#memory.readModelReports(pools),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#shared[Symbol.asyncDispose]();
  }

  async #sharedOr<T>(shared: () => Awaitable<T>, alone: () => Awaitable<T>): Promise<T> {
    if (this.#isAway()) return alone();
    try {
      return await shared();
    } catch (thrown) {
      this.#awayUntilMs = this.#clock.nowMs() + leftAloneMs;
      this.#onFallback(thrown);
      return alone();
    }
  }

  #isAway(): boolean {
    return this.#clock.nowMs() < this.#awayUntilMs;
  }

  async #tellWhatChangedAlone(): Promise<void> {
    for (const accountId of this.#changedAlone) {
      const [record] = await this.#memory.readAccounts([accountId], Number.POSITIVE_INFINITY);
      const health = record?.health;
      if (health !== undefined) await this.#shared.changeHealth(accountId, (known) => mergeHealth(known, health));
      this.#changedAlone.delete(accountId);
    }
  }
}

const leftAloneMs = 1_000;

async function nothing(): Promise<void> {}
