import type { ActiveConfiguration } from '../configuration/active-configuration.ts';
import type { AccountCredentials } from '../credentials/account-credentials.ts';
import type { AccountDirectory } from '../credentials/account-directory.ts';
import type { BrokerMetrics } from '../metrics.ts';
import type { PoolStore } from '../store/pool-store.ts';
import type { RetryBudget } from './retry-budget.ts';

/** The parts that the RPC handlers use. */
export interface Broker {
  readonly configuration: ActiveConfiguration;
  readonly directory: AccountDirectory;
  readonly store: PoolStore;
  readonly credentials: AccountCredentials;
  readonly retryBudget: RetryBudget;
  /** For retries after refusals whose cause may be the request, apart from those after errors. */
  readonly refusalBudget: RetryBudget;
  /** Returns a number from 0 to below 1. */
  readonly random: () => number;
  readonly metrics: BrokerMetrics;
  /**
   * Aborted when the broker takes no new work: streams that never end by themselves must end then.
   */
  readonly draining: AbortSignal;
}
