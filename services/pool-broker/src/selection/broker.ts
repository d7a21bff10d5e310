import type { PoolSettings } from '@gateway/config';
import type { Clock } from '@gateway/time';
import type { AccountRoster } from '../accounts/account.ts';
import type { AttemptResult, ProblemKind } from '../accounts/attempt.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { AccountCredentials } from '../credentials/account-credentials.ts';
import type { PoolStore } from '../store/pool-store.ts';
import type { AccountSampler } from './account-sampler.ts';
import type { RetryBudget } from './retry-budget.ts';

/** What the RPCs work with. */
export interface Broker {
  /** What is configured now. */
  readonly configuration: {
    readonly roster: AccountRoster;
    readonly catalog: Catalog;
    readonly settings: PoolSettings;
    readonly retryBudget: RetryBudget;
    /** When an account was given the credential that is configured. -Infinity: it has had it since the start. */
    credentialSinceMs(accountId: string): number;
  };
  readonly store: PoolStore;
  readonly sampler: AccountSampler;
  readonly credentials: AccountCredentials;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly events: BrokerEvents;
  /** Aborted when the broker takes nothing new: streams without an end of their own must end then. */
  readonly draining: AbortSignal;
}

/** What operators learn of the broker's work. Pools are named, accounts never. */
export interface BrokerEvents {
  acquired(result: 'leased' | 'exhausted' | 'unavailable' | 'unknown_model'): void;
  attemptEnded(pool: string, result: AttemptResult): void;
  retryRefused(reason: 'attempts' | 'budget'): void;
  /** A provider has taken an account out of service: a person has to act. */
  accountDisabled(pool: string, problem: ProblemKind): void;
}
