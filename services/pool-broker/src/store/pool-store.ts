import type { ModelReport } from '../catalog/list-models.ts';
import type { AccountHealth } from '../health/account-health.ts';
import type { AccountView } from '../health/eligibility.ts';
import type { PoolHealth } from '../health/pool-health.ts';

/** What all replicas of the broker share. Every entry expires. Calls reject when the store can't be reached. */
export interface PoolStore extends AsyncDisposable {
  /** What a request has to know of a pool: what `readAccounts`, `readPool`, `boundAccount` and `shareOf` answer. */
  readPoolView(question: PoolQuestion): Promise<PoolView>;
  /** Health and requests in flight of each account, in the order asked. Leases older than `leaseTtlMs` do not count. */
  readAccounts(accountIds: readonly string[], leaseTtlMs: number): Promise<readonly AccountRecord[]>;
  /** Applies a change to the current health of an account, atomically. False when the change declined. */
  changeHealth(accountId: string, change: Change<AccountHealth>): Promise<boolean>;
  readPool(pool: string): Promise<PoolHealth>;
  changePoolHealth(pool: string, change: Change<PoolHealth>): Promise<boolean>;
  /** Counts one more request in flight. False when the account has `maxConcurrency` already. Repeating it has no effect. */
  takeLease(lease: NewLease): Promise<boolean>;
  /** Lets a lease count for another `leaseTtlMs`, whatever the cap; a settled one does not. The begin of its request stays. */
  renewLease(renewal: LeaseRenewal): Promise<void>;
  /** Ends a lease and its request. Only the first call for a lease has an answer: when it was taken, if known, and both healths then. */
  settleLease(accountId: string, request: PoolRequest): Promise<Settlement | undefined>;
  /** When the oldest request in flight began that began at `sinceMs` or later. `model` empty: any. */
  oldestRequest(question: SinceQuestion): Promise<number | undefined>;
  /** What a caller has of a pool. The question counts the caller among those that want something of it. */
  shareOf(question: ShareQuestion): Promise<CallerShare>;
  boundAccount(affinityId: string): Promise<string | undefined>;
  /** Binds a session that is not bound to another account, for `ttlMs` from now. */
  bind(affinityId: string, accountId: string, ttlMs: number): Promise<void>;
  /** Ends a session's binding if it is to this account. */
  unbind(affinityId: string, accountId: string): Promise<void>;
  /** Keeps the last report on a pool's models. A report without models leaves the last list as it is. */
  saveModelReport(report: ModelReport): Promise<void>;
  readModelReports(pools: readonly string[]): Promise<readonly ModelReport[]>;
}

/** Makes the new value of the current one. Undefined, or the same value: leave it. May be called more than once. */
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

/** The view of a store that has its parts in several places, which are asked at once. */
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
  /** When it stops counting if it is neither renewed nor settled. */
  readonly leaseTtlMs: number;
}

export interface NewLease extends LeaseRenewal {
  /** Infinity: no cap. */
  readonly maxConcurrency: number;
  /** How many leases its caller may have of the pool, this one included. Absent: as many as there are. */
  readonly mostOfCaller?: number;
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

/** A caller's requests in flight in a pool, and the callers that asked the pool for something recently, this one among them. */
export interface CallerShare {
  readonly inFlight: number;
  readonly callers: number;
}

/** Further callers need not be counted: the share of each is one request by then. */
export const maxCallers = 10_000;

/** How long a call waits for Redis, where the settings do not say. */
export const defaultRedisCommandTimeoutMs = 100;
