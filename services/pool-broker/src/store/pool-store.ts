import type { ModelReport } from '../catalog/list-models.ts';
import type { AccountHealth } from '../health/account-health.ts';
import type { AccountView } from '../health/eligibility.ts';
import type { PoolHealth } from '../health/pool-health.ts';

/**
 * The state that all replicas of the broker share. Every entry expires. Calls reject when the store
 * can't be reached.
 */
export interface PoolStore extends AsyncDisposable {
  /** The time of what replicas share: expiries, starts, pauses. */
  nowMs(): number;
  /**
   * What a request must know about a pool: the results of `readAccounts`, `readPool`,
   * `boundAccount` and `shareOf`.
   */
  readPoolView(question: PoolQuestion): Promise<PoolView>;
  /**
   * Health and requests in flight of each account, in the given order. Leases older than
   * `leaseTtlMs` are ignored.
   */
  readAccounts(accountIds: readonly string[], leaseTtlMs: number): Promise<readonly AccountRecord[]>;
  /**
   * Applies a change to the current health of an account, atomically. False when `change` declined.
   */
  changeHealth(accountId: string, change: Change<AccountHealth>): Promise<boolean>;
  readPool(pool: string): Promise<PoolHealth>;
  changePoolHealth(pool: string, change: Change<PoolHealth>): Promise<boolean>;
  /**
   * Counts one more request in flight. False when the account already has `maxConcurrency`.
   * Repeating it has no effect.
   */
  takeLease(lease: NewLease): Promise<boolean>;
  /**
   * Extends a lease for another `leaseTtlMs`, whatever the cap; a settled lease is not extended.
   * The start of its request stays the same.
   */
  renewLease(renewal: LeaseRenewal): Promise<void>;
  /**
   * Ends a lease and its request. Only the first call for a lease returns a result: when it was
   * taken, if known, and both healths at that time.
   */
  settleLease(accountId: string, request: PoolRequest): Promise<Settlement | undefined>;
  /**
   * The start of the oldest request in flight that started at `sinceMs` or later. `model` empty:
   * any.
   */
  oldestRequest(question: SinceQuestion): Promise<number | undefined>;
  /**
   * A caller's share of a pool. Reading it also counts the caller among those that use the pool.
   */
  shareOf(question: ShareQuestion): Promise<CallerShare>;
  boundAccount(affinityId: string): Promise<string | undefined>;
  /** Binds a session, unless it is bound to another account, for `ttlMs` from now. */
  bind(affinityId: string, accountId: string, ttlMs: number): Promise<void>;
  /** Removes a session's binding if it is to this account. */
  unbind(affinityId: string, accountId: string): Promise<void>;
  /**
   * Stores the last report on a pool's models. A report without models leaves the last list
   * unchanged.
   */
  saveModelReport(report: ModelReport): Promise<void>;
  readModelReports(pools: readonly string[]): Promise<readonly ModelReport[]>;
}

/** A store that replicas share. */
export interface SharedPoolStore extends PoolStore {
  /** False while its time is only that of this machine. */
  readonly isTimeKnown: boolean;
}

/**
 * Computes the new value from the current one. Undefined, or the same value: no change. May be
 * called more than once.
 */
export type Change<T> = (value: T) => T | undefined;

export interface PoolQuestion extends ShareQuestion {
  readonly accountIds: readonly string[];
  /** Empty: no session. */
  readonly affinityId: string;
}

export interface PoolView {
  readonly accounts: readonly AccountRecord[];
  readonly poolHealth: PoolHealth;
  readonly boundAccountId: string | undefined;
  /** Undefined when the question names no caller. */
  readonly callerShare: CallerShare | undefined;
}

export type AccountRecord = Omit<AccountView, 'account'>;

/** The view of a store whose parts are read concurrently from several places. */
export async function readApart(store: PoolStore, question: PoolQuestion): Promise<PoolView> {
  const { accountIds, leaseTtlMs, pool, affinityId, caller } = question;
  const [accounts, poolHealth, boundAccountId, callerShare] = await Promise.all([
    store.readAccounts(accountIds, leaseTtlMs),
    store.readPool(pool),
    affinityId === '' ? undefined : store.boundAccount(affinityId),
    caller === '' ? undefined : store.shareOf(question),
  ]);
  return { accounts, poolHealth, boundAccountId, callerShare };
}

export interface PoolRequest {
  /** See `newLeaseId`. */
  readonly leaseId: string;
  readonly pool: string;
  readonly model: string;
  /** Empty: no share is counted. */
  readonly caller: string;
}

export interface LeaseRenewal extends PoolRequest {
  readonly accountId: string;
  /** When the lease expires if it is neither renewed nor settled. */
  readonly leaseTtlMs: number;
}

export interface NewLease extends LeaseRenewal {
  /** Infinity: no cap. */
  readonly maxConcurrency: number;
  /**
   * The maximum number of leases that its caller may have in the pool, including this one. Absent:
   * unlimited.
   */
  readonly maxPerCaller?: number;
}

export interface Settlement {
  readonly leasedAtMs: number | undefined;
  readonly health: AccountHealth;
  readonly poolHealth: PoolHealth;
}

export interface SinceQuestion extends Pick<PoolRequest, 'pool' | 'model'> {
  readonly sinceMs: number;
}

export interface ShareQuestion extends Pick<LeaseRenewal, 'pool' | 'caller' | 'leaseTtlMs'> {
  readonly callerMemoryMs: number;
}

/**
 * A caller's requests in flight in a pool, and the number of callers that used the pool recently,
 * including this one.
 */
export interface CallerShare {
  readonly inFlight: number;
  readonly callers: number;
}

/** More callers need not be counted: by then the share of each is one request. */
export const maxCallers = 10_000;
