import type { ModelReport } from '../catalog/model-report.ts';
import type { AccountHealth } from '../health/account-health.ts';
import type { PoolHealth } from '../health/pool-health.ts';
import type { Awaitable } from './awaitable.ts';
import type { GlanceQuestion, PoolGlance } from './pool-glance.ts';
import type { EndedRequest, NewRequest, RequestBook } from './request-book.ts';

/**
 * What all replicas of the broker share: health, requests under way, which session belongs to which account, model lists.
 * Everything in it is forgotten by itself. Calls reject when the store can't be reached.
 */
export interface PoolStore extends RequestBook, AsyncDisposable {
  /** A pool as it was seen of late. Undefined: it was not, or to ask takes no time. */
  glanceAt(question: GlanceQuestion): PoolGlance | undefined;
  /** Health and requests under way of each account, in the order asked. Leases older than `leaseTtlMs` do not count. */
  readAccounts(accountIds: readonly string[], leaseTtlMs: number): Awaitable<readonly AccountRecord[]>;
  /** Applies a change to an account's health as it is now, whoever else changes it. False when the change declined. */
  changeHealth(accountId: string, change: HealthChange): Awaitable<boolean>;
  /** What is known of a pool's provider as a whole. */
  readPool(pool: string): Awaitable<PoolHealth>;
  /** As `changeHealth`, of a pool. */
  changePoolHealth(pool: string, change: PoolHealthChange): Awaitable<boolean>;
  /**
   * Counts one more request under way, with its account and in the book, and gives its lease's id: the one that is named, or a
   * new one. Undefined when the account has `maxConcurrency` already. Repeating it with an id does no harm.
   */
  takeLease(lease: NewLease): Awaitable<string | undefined>;
  /**
   * Has a lease count for another `leaseTtlMs` from now, whatever the cap: its request goes on. One that is not known, or not any
   * more, counts again; one that was settled does not. When its request began stays as it is.
   */
  renewLease(renewal: LeaseRenewal): Awaitable<void>;
  /** Ends a lease and its request. Only the first call for a lease settles it. */
  settleLease(accountId: string, request: EndedRequest): Awaitable<LeaseSettlement>;
  /** The account that a session is bound to. */
  boundAccount(affinityId: string): Awaitable<string | undefined>;
  /** Binds a session that is not bound to another account, for `ttlMs` from now. */
  bind(affinityId: string, accountId: string, ttlMs: number): Awaitable<void>;
  /** Ends a session's binding if it is to this account. */
  unbind(affinityId: string, accountId: string): Awaitable<void>;
  /** Keeps what was heard of a pool's models. A report without models leaves the last list as it is. */
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

export interface NewLease extends NewRequest {
  readonly accountId: string;
  /** Infinity: no cap. */
  readonly maxConcurrency: number;
  /** When it stops counting, should its end never be told. */
  readonly leaseTtlMs: number;
  /** An id that was given elsewhere. It names the caller. */
  readonly leaseId?: string;
}

export interface LeaseRenewal extends EndedRequest {
  readonly accountId: string;
  readonly leaseTtlMs: number;
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

/** How long at least a settled lease is remembered, so that a repeated report is known as one. */
export const settledMemoryMs = 120_000;

/** How long a model list is kept that nobody reports on any more. */
export const modelReportTtlMs = 7 * 86_400_000;
