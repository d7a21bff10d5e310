import type { PoolHealth } from '../health/pool-health.ts';
import type { AccountRecord, NewLease } from './pool-store.ts';

/**
 * What a shared store said of a pool within the last moments, when it was asked something else. Whoever chooses an account by it
 * saves the time to ask; what was chosen by what is not so any more is not taken.
 */
export interface PoolGlance {
  /** In the order asked. */
  readonly accounts: readonly AccountRecord[];
  readonly poolHealth: PoolHealth;
  /** The account that the session is bound to, as far as it is known. */
  readonly boundAccountId: string | undefined;
  /** The store should be asked again soon, or there will be no further glance. */
  readonly isFading: boolean;
  /**
   * As `takeLease`, and notes the caller as `shareOf` does. Undefined, too, when the health of the account or of the pool, or the
   * session's binding, is not as it was seen: then the choice has to be made anew, by asking.
   */
  take(lease: NewLease, callerMemoryMs: number): Promise<string | undefined>;
}

export interface GlanceQuestion {
  readonly pool: string;
  readonly accountIds: readonly string[];
  /** Undefined: no session. */
  readonly affinityId: string | undefined;
}
