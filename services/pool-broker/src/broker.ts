import type { PoolSettings } from '@gateway/config';
import type { Clock } from '@gateway/time';
import type { AccountRoster } from './accounts/account.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { AccountCredentials } from './credentials/account-credentials.ts';
import type { BrokerEvents } from './events.ts';
import type { RetryBudget } from './selection/retry-budget.ts';
import type { PoolStore } from './store/pool-store.ts';

/** What the RPCs work with. */
export interface Broker {
  readonly roster: AccountRoster;
  readonly catalog: Catalog;
  readonly store: PoolStore;
  readonly credentials: AccountCredentials;
  /** See `ActiveConfiguration.credentialSinceMs`. */
  readonly credentialSinceMs: (accountId: string) => number;
  readonly settings: PoolSettings;
  readonly retryBudget: RetryBudget;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly events: BrokerEvents;
  /** Aborted when the broker takes nothing new: streams without an end of their own must end then. */
  readonly draining: AbortSignal;
}
