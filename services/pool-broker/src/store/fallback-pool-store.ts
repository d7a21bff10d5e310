import type { ServiceRuntime } from '@gateway/lifecycle';
import type { RedisSettings } from '@gateway/redis';
import { monotonicMs } from '@gateway/time';
import { mergeHealth } from '../health/account-health.ts';
import { MemoryPoolStore } from './memory-pool-store.ts';
import { type PoolStore, readApart, type SharedPoolStore } from './pool-store.ts';
import { openRedisPoolStore } from './redis-pool-store.ts';

/**
 * The store that replicas share, with a snapshot in this process as a fallback. The caller disposes
 * of it.
 */
export async function openSharedPoolStore(
  settings: RedisSettings,
  { logger, metrics }: ServiceRuntime,
): Promise<PoolStore> {
  const fallbacks = metrics.counter({
    name: 'gateway_pool_store_fallbacks_total',
    help: 'Times that this process used its own memory for a second because Redis did not answer.',
  });
  const onFault = (reason: string) => logger.warn({ reason }, 'connection to Redis failed');
  const redis = await openRedisPoolStore({ settings, metrics, onFault });
  let saidMs = Number.NEGATIVE_INFINITY;
  return withFallback(redis, (thrown) => {
    fallbacks.inc();
    // An outage has one cause, and this happens every second of it.
    if (monotonicMs() - saidMs < sayAgainMs) return;
    saidMs = monotonicMs();
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    logger.warn({ reason }, 'Redis does not answer; using in-memory account state');
  });
}

const sayAgainMs = 60_000;

/**
 * Answers from a snapshot for a second after the shared store failed. Health that changed in the
 * meantime is merged once the shared store is back, unless it was timed by a clock that the other
 * replicas do not share.
 */
export function withFallback(shared: SharedPoolStore, onFallback: (thrown: unknown) => void): PoolStore {
  const nowMs = () => shared.nowMs();
  const snapshot = new MemoryPoolStore(nowMs);
  /** Accounts whose health changed while the shared store was away. */
  const unshared = new Set<string>();
  let awayUntilMs = Number.NEGATIVE_INFINITY;

  async function sharedOr<T>(ask: () => Promise<T>, alone: () => T | Promise<T>): Promise<T> {
    const leftMs = awayUntilMs - nowMs();
    // More is left than ever was: the clock was set back.
    if (leftMs > 0 && leftMs <= retryAfterMs) return alone();
    try {
      return await ask();
    } catch (thrown) {
      awayUntilMs = nowMs() + retryAfterMs;
      onFallback(thrown);
      return alone();
    }
  }

  /** Updates the snapshot and returns the shared store's answer if it has one. */
  async function both<T>(call: (store: PoolStore) => Promise<T>): Promise<T> {
    const answer = await call(snapshot);
    return sharedOr(
      () => call(shared),
      () => answer,
    );
  }

  async function shareChanges(): Promise<void> {
    for (const accountId of unshared) {
      const [record] = await snapshot.readAccounts([accountId], Number.POSITIVE_INFINITY);
      const health = record?.health;
      if (health !== undefined) await shared.changeHealth(accountId, (known) => mergeHealth(known, health));
      unshared.delete(accountId);
    }
  }

  const store: PoolStore = {
    nowMs,
    readPoolView: (question) => readApart(store, question),

    readAccounts(accountIds, leaseTtlMs) {
      const read = async () => {
        await shareChanges();
        const records = await shared.readAccounts(accountIds, leaseTtlMs);
        for (const [at, { health, inFlight }] of records.entries()) {
          const accountId = accountIds[at] ?? '';
          await snapshot.changeHealth(accountId, () => health);
          snapshot.limitLeases(accountId, inFlight);
        }
        return records;
      };
      return sharedOr(read, () => snapshot.readAccounts(accountIds, leaseTtlMs));
    },

    async changeHealth(accountId, change) {
      const isChanged = await snapshot.changeHealth(accountId, change);
      return sharedOr(
        () => shared.changeHealth(accountId, change),
        () => {
          if (isChanged && shared.isTimeKnown) unshared.add(accountId);
          return isChanged;
        },
      );
    },

    readPool(pool) {
      const read = async () => {
        const health = await shared.readPool(pool);
        await snapshot.changePoolHealth(pool, () => health);
        return health;
      };
      return sharedOr(read, () => snapshot.readPool(pool));
    },

    takeLease(lease) {
      const take = async () => {
        const isTaken = await shared.takeLease(lease);
        const uncapped = { maxConcurrency: Number.POSITIVE_INFINITY, maxPerCaller: Number.POSITIVE_INFINITY };
        if (isTaken) await snapshot.takeLease({ ...lease, ...uncapped });
        return isTaken;
      };
      return sharedOr(take, () => snapshot.takeLease(lease));
    },

    /** While the shared store answers, only it counts the leases of other replicas. */
    async renewLease(renewal) {
      const renewHere = () => snapshot.renewLease(renewal);
      if (snapshot.hasLease(renewal.leaseId)) await renewHere();
      await sharedOr(() => shared.renewLease(renewal), renewHere);
    },

    async settleLease(accountId, request) {
      const settlement = await snapshot.settleLease(accountId, request);
      if (settlement === undefined) return undefined;
      return sharedOr(
        () => shared.settleLease(accountId, request),
        () => settlement,
      );
    },

    /** A pool's faults last seconds: what one replica learns alone is not merged later. */
    changePoolHealth: (...change) => both((store) => store.changePoolHealth(...change)),
    oldestRequest: (question) => both((store) => store.oldestRequest(question)),
    shareOf: (question) => both((store) => store.shareOf(question)),
    boundAccount: (affinityId) => both((store) => store.boundAccount(affinityId)),
    bind: (...binding) => both((store) => store.bind(...binding)),
    unbind: (...binding) => both((store) => store.unbind(...binding)),
    saveModelReport: (report) => both((store) => store.saveModelReport(report)),
    readModelReports: (pools) => both((store) => store.readModelReports(pools)),
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  };
  return store;
}

const retryAfterMs = 1_000;
