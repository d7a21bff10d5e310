import type { ServiceRuntime } from '@gateway/lifecycle';
import type { RedisSettings } from '@gateway/redis';
import { type Clock, systemClock } from '@gateway/time';
import { type AccountHealth, mergeHealth } from '../health/account-health.ts';
import { MemoryPoolStore } from './memory-pool-store.ts';
import type { Change, LeaseRenewal, NewLease, PoolRequest, PoolStore } from './pool-store.ts';
import { defaultRedisCommandTimeoutMs } from './pool-store.ts';
import { RedisPoolStore } from './redis-pool-store.ts';

/** The store that replicas share, with a snapshot in this process to fall back on. The caller disposes of it. */
export async function openSharedPoolStore(
  settings: RedisSettings,
  { logger, metrics }: ServiceRuntime,
  commandTimeoutMs = defaultRedisCommandTimeoutMs,
): Promise<PoolStore> {
  const fallbacks = metrics.counter({
    name: 'gateway_pool_store_fallbacks_total',
    help: 'Times Redis did not answer and the memory of this process was used for a second.',
  });
  const onFault = (reason: string) => logger.warn({ reason }, 'the connection to Redis failed');
  const redis = await RedisPoolStore.open({ settings, commandTimeoutMs, clock: systemClock, metrics, onFault });
  return new FallbackPoolStore(redis, systemClock, (thrown) => {
    fallbacks.inc();
    logger.warn({ err: thrown }, 'Redis does not answer: accounts are chosen by what this process remembers');
  });
}

/** A snapshot answers for a second after the shared store failed. Health that changed meanwhile is merged once that is back. */
export class FallbackPoolStore implements PoolStore {
  readonly #shared: PoolStore;
  readonly #snapshot: MemoryPoolStore;
  readonly #clock: Clock;
  readonly #onFallback: (thrown: unknown) => void;
  /** Accounts whose health changed while the shared store was away. */
  readonly #unshared = new Set<string>();
  #awayUntilMs = Number.NEGATIVE_INFINITY;

  constructor(shared: PoolStore, clock: Clock, onFallback: (thrown: unknown) => void) {
    this.#shared = shared;
    this.#snapshot = new MemoryPoolStore(clock);
    this.#clock = clock;
    this.#onFallback = onFallback;
  }

  readAccounts(accountIds: readonly string[], leaseTtlMs: number) {
    const read = async () => {
      await this.#shareChanges();
      const records = await this.#shared.readAccounts(accountIds, leaseTtlMs);
      for (const [at, { health }] of records.entries()) {
        await this.#snapshot.changeHealth(accountIds[at] ?? '', () => health);
      }
      return records;
    };
    return this.#sharedOr(read, () => this.#snapshot.readAccounts(accountIds, leaseTtlMs));
  }

  async changeHealth(accountId: string, change: Change<AccountHealth>) {
    const isChanged = await this.#snapshot.changeHealth(accountId, change);
    return this.#sharedOr(
      () => this.#shared.changeHealth(accountId, change),
      () => {
        if (isChanged) this.#unshared.add(accountId);
        return isChanged;
      },
    );
  }

  readPool(pool: string) {
    const read = async () => {
      const health = await this.#shared.readPool(pool);
      await this.#snapshot.changePoolHealth(pool, () => health);
      return health;
    };
    return this.#sharedOr(read, () => this.#snapshot.readPool(pool));
  }

  takeLease(lease: NewLease) {
    const take = async () => {
      const isTaken = await this.#shared.takeLease(lease);
      if (isTaken) await this.#snapshot.takeLease({ ...lease, maxConcurrency: Number.POSITIVE_INFINITY });
      return isTaken;
    };
    return this.#sharedOr(take, () => this.#snapshot.takeLease(lease));
  }

  /** While the shared store answers, it alone counts what other replicas leased. */
  async renewLease(renewal: LeaseRenewal) {
    const renewHere = () => this.#snapshot.renewLease(renewal);
    if (this.#snapshot.hasLease(renewal.leaseId)) await renewHere();
    await this.#sharedOr(() => this.#shared.renewLease(renewal), renewHere);
  }

  async settleLease(accountId: string, request: PoolRequest) {
    const settlement = await this.#snapshot.settleLease(accountId, request);
    return (
      settlement &&
      this.#sharedOr(
        () => this.#shared.settleLease(accountId, request),
        () => settlement,
      )
    );
  }

  /** A pool's faults last seconds: what a replica learns of them alone is not merged later. */
  readonly changePoolHealth: PoolStore['changePoolHealth'] = (...change) =>
    this.#both((store) => store.changePoolHealth(...change));
  readonly oldestRequest: PoolStore['oldestRequest'] = (question) =>
    this.#both((store) => store.oldestRequest(question));
  readonly shareOf: PoolStore['shareOf'] = (question) => this.#both((store) => store.shareOf(question));
  readonly boundAccount: PoolStore['boundAccount'] = (id) => this.#both((store) => store.boundAccount(id));
  readonly bind: PoolStore['bind'] = (...binding) => this.#both((store) => store.bind(...binding));
  readonly unbind: PoolStore['unbind'] = (...binding) => this.#both((store) => store.unbind(...binding));
  readonly saveModelReport: PoolStore['saveModelReport'] = (report) =>
    this.#both((store) => store.saveModelReport(report));
  readonly readModelReports: PoolStore['readModelReports'] = (pools) =>
    this.#both((store) => store.readModelReports(pools));

  [Symbol.asyncDispose]() {
    return this.#shared[Symbol.asyncDispose]();
  }

  /** Keeps the snapshot up to date, and gives the answer of the shared store where that has one. */
  async #both<T>(call: (store: PoolStore) => Promise<T>): Promise<T> {
    const answer = await call(this.#snapshot);
    return this.#sharedOr(
      () => call(this.#shared),
      () => answer,
    );
  }

  async #sharedOr<T>(shared: () => Promise<T>, alone: () => T | Promise<T>): Promise<T> {
    if (this.#clock.nowMs() < this.#awayUntilMs) return alone();
    try {
      return await shared();
    } catch (thrown) {
      this.#awayUntilMs = this.#clock.nowMs() + retryAfterMs;
      this.#onFallback(thrown);
      return alone();
    }
  }

  async #shareChanges(): Promise<void> {
    for (const accountId of this.#unshared) {
      const [record] = await this.#snapshot.readAccounts([accountId], Number.POSITIVE_INFINITY);
      const health = record?.health;
      if (health !== undefined) await this.#shared.changeHealth(accountId, (known) => mergeHealth(known, health));
      this.#unshared.delete(accountId);
    }
  }
}

const retryAfterMs = 1_000;
