import type { PoolSettings } from '@gateway/config';
import type { Account } from '../accounts/account.ts';
import type { Attempt, AttemptResult } from '../accounts/attempt.ts';
import type { Candidate } from '../catalog/catalog.ts';
import type { AccountHealth, Cooldown } from '../health/account-health.ts';
import type { IncidentCause, PoolHealth } from '../health/pool-health.ts';
import type { CallerShare } from '../store/pool-store.ts';

/** An account with what is known of it at the time of choice. */
export interface AccountView {
  readonly account: Account;
  readonly health: AccountHealth;
  /** Requests in flight. */
  readonly inFlight: number;
}

/** A candidate with accounts of its pool. */
export interface CandidateView {
  readonly candidate: Candidate;
  readonly accounts: readonly AccountView[];
  /** Set when `accounts` is a sample. `usableShare`: of all that serve the model, those that are not known to be limited. */
  readonly sampled?: { readonly usableShare: number };
  readonly poolHealth: PoolHealth;
  /** The account that the affinity key is bound to in this pool. */
  readonly boundAccountId: string | undefined;
  /** What the caller has of the pool. Undefined when the request names no caller. */
  readonly callerShare: CallerShare | undefined;
}

export interface SelectionRequest {
  /** In order of preference; only those that the request may use. */
  readonly candidates: readonly CandidateView[];
  /** Empty: no affinity. */
  readonly affinityKey: string;
  /** The request's attempts so far, oldest first. */
  readonly attempts: readonly Attempt[];
  /** Accounts whose last place went to another request. */
  readonly overtakenAt: readonly string[];
  readonly rules: PoolSettings;
  readonly nowMs: number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

export type Selection = {
  /** What was found of each candidate that was looked at, in order. */
  readonly examinations: readonly Examination[];
} & (
  | Chosen
  /** Something is merely limited. `retryAtMs`: the earliest known reset. */
  | { readonly kind: 'exhausted'; readonly retryAtMs: number | undefined }
  | { readonly kind: 'unavailable' }
  /** The sample does not decide: all accounts have to be looked at. */
  | { readonly kind: 'undecided' }
);

export interface Chosen {
  readonly kind: 'chosen';
  readonly candidate: CandidateView;
  readonly view: AccountView;
  /** Why this one, in words for operators. */
  readonly reason: string;
  /** The request finds out whether the account is back, and must be the only one to do so. */
  readonly probe: boolean;
  /** The same of the pool as a whole. */
  readonly poolProbe: boolean;
}

/** The accounts of one candidate that were looked at. */
export interface Examination {
  readonly candidate: CandidateView;
  readonly examined: readonly ExaminedAccount[];
}

export interface ExaminedAccount {
  readonly view: AccountView;
  readonly fitness: Fitness;
}

/** Whether an account can take the request now, and if not, why. */
export type Fitness =
  /** `probe`: the request would find out whether a cooldown is over, and must be the only one to do so. */
  | { readonly kind: 'fit'; readonly probe: boolean }
  /** `early`: it cools, but one request may find out ahead of the end whether it still has to. */
  | { readonly kind: 'unfit'; readonly obstacle: Obstacle; readonly early?: 'due' | 'last_resort' };

/** Why an account can't take a request. */
export type Obstacle =
  /** `note`: why, where it is not the configuration that says so. */
  | { readonly kind: 'disabled'; readonly note: string }
  | { readonly kind: 'draining' | 'model_not_served' | 'busy' | 'share_used_up' }
  | { readonly kind: 'cooling'; readonly cooldown: Cooldown; readonly limitOnly: boolean }
  | { readonly kind: 'probing'; readonly cooldown: Cooldown; readonly freeAtMs: number; readonly limitOnly: boolean }
  | { readonly kind: 'pool_paused'; readonly cause: IncidentCause; readonly untilMs: number }
  | { readonly kind: 'tried'; readonly result: AttemptResult };
