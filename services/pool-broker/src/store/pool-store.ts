import type { ModelReport } from '../catalog/list-models.ts';
import type { AccountHealth } from '../health/account-health.ts';
import type { PoolHealth } from '../health/pool-health.ts';

/**
 * What all replicas of the broker share: health, requests in flight, which session belongs to which account, model lists.
 * Every entry expires. Calls reject when the store can't be reached.
 */
export interface PoolStore extends AsyncDisposable {
  /** Health and requests in flight of each account, in the order asked. Leases older than `leaseTtlMs` do not count. */
  readAccounts(accountIds: readonly string[], leaseTtlMs: number): Promise<readonly AccountRecord[]>;
  /** Applies a change to the current health of an account, atomically. False when the change declined. */
  changeHealth(accountId: string, change: HealthChange): Promise<boolean>;
  /** What is known of a pool's provider as a whole. */
  readPool(pool: string): Promise<PoolHealth>;
  /** As `changeHealth`, of a pool. */
  changePoolHealth(pool: string, change: PoolHealthChange): Promise<boolean>;
  /** Counts one more request in flight. False when the account has `maxConcurrency` already. Repeating it has no effect. */
  takeLease(lease: NewLease): Promise<boolean>;
  /**
   * Lets a lease count for another `leaseTtlMs` from now, whatever the cap: its request goes on. An expired or unknown lease
   * counts again; a settled one does not. The begin of its request stays as it is.
   */
  renewLease(renewal: LeaseRenewal): Promise<void>;
  /** Ends a lease and its request. Only the first call for a lease settles it. */
  settleLease(accountId: string, request: EndedRequest): Promise<LeaseSettlement>;
  /** When the oldest request in flight began that began at `sinceMs` or later. Undefined: there is none. */
  oldestRequest(question: SinceQuestion): Promise<number | undefined>;
  /** What a caller has of a pool. The question counts the caller among those that want something of it. */
  shareOf(question: ShareQuestion): Promise<CallerShare>;
  /** The account that a session is bound to. */
  boundAccount(affinityId: string): Promise<string | undefined>;
  /** Binds a session that is not bound to another account, for `ttlMs` from now. */
  bind(affinityId: string, accountId: string, ttlMs: number): Promise<void>;
  /** Ends a session's binding if it is to this account. */
  unbind(affinityId: string, accountId: string): Promise<void>;
  /** Keeps the last report on a pool's models. A report without models leaves the last list as it is. */
  saveModelReport(report: ModelReport): Promise<void>;
  /** The last report of each pool that has one. */
  readModelReports(pools: readonly string[]): Promise<readonly ModelReport[]>;
}

export interface AccountRecord {
  readonly health: AccountHealth;
  readonly inFlight: number;
}

/** Makes the new health of the current one. Undefined, or the same value: leave it. May be called more than once. */
export type HealthChange = (health: AccountHealth) => AccountHealth | undefined;
export type PoolHealthChange = (health: PoolHealth) => PoolHealth | undefined;

export interface PoolRequest {
  readonly pool: string;
  readonly model: string;
  /** Empty: no share is counted. */
  readonly caller: string;
}

export interface EndedRequest extends PoolRequest {
  /** See `newLeaseId`. */
  readonly leaseId: string;
}

export interface LeaseRenewal extends EndedRequest {
  readonly accountId: string;
  /** When it stops counting if it is neither renewed nor settled. */
  readonly leaseTtlMs: number;
}

export interface NewLease extends LeaseRenewal {
  /** Infinity: no cap. */
  readonly maxConcurrency: number;
}

export type LeaseSettlement =
  | {
      readonly kind: 'settled';
      /** Undefined when the lease was not known (any more). */
      readonly leasedAtMs: number | undefined;
      /** As they were at that instant: what the end of the request may change. */
      readonly health: AccountHealth;
      readonly poolHealth: PoolHealth;
    }
  | { readonly kind: 'settled_before' };

export interface SinceQuestion {
  readonly pool: string;
  /** Empty: any. */
  readonly model: string;
  readonly sinceMs: number;
}

export interface ShareQuestion {
  readonly pool: string;
  readonly caller: string;
  readonly leaseTtlMs: number;
  /** How long a caller counts that asks for nothing more. */
  readonly callerMemoryMs: number;
}

/** What a caller has of a pool, and how many it shares the pool with. */
export interface CallerShare {
  /** Requests of this caller in flight. */
  readonly inFlight: number;
  /** Callers that asked the pool for something recently, this one among them. */
  readonly callers: number;
}

/** Further callers need not be counted: the share of each is one request by then. */
export const maxCallers = 10_000;

/** How long at least a settled lease is remembered, so that a repeated report is recognized. */
export const settledMemoryMs = 120_000;

/** How long a call waits for Redis, where the settings do not say. */
export const defaultRedisCommandTimeoutMs = 100;
