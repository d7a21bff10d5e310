import type { GrantKey } from '../grants/grant-store.ts';

/** Lets one replica at a time refresh a grant. Calls reject when it can't be reached. */
export interface RefreshLock {
  /** Undefined: another one holds it. The fence is higher than `above`, and than that of every holder before who claimed the grant. */
  take(key: GrantKey, ttlMs: number, above: number): Promise<HeldLock | undefined>;
}

export interface HeldLock {
  /** Tells a holder from those before and after: who has a lower one has lost the lock, whatever he believes. */
  readonly fence: number;
  /** Holds it for `ttlMs` from now. False: it is another one's by now. */
  extend(ttlMs: number): Promise<boolean>;
  release(): Promise<void>;
}
