import type { Clock } from '@gateway/time';
import type { ChangeFeed } from './changes/change-feed.ts';
import type { TokenHasher } from './hashing/hash-key.ts';
import type { identityMetrics } from './metrics.ts';
import type { TokenStore } from './store/token-store.ts';

/** What the RPCs work with. */
export interface Identity {
  readonly store: TokenStore;
  readonly hasher: TokenHasher;
  readonly changes: ChangeFeed;
  readonly clock: Clock;
  readonly metrics: ReturnType<typeof identityMetrics>;
}
