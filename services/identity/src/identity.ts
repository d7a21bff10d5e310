import type { Clock } from '@gateway/time';
import type { ChangeFeed } from './changes/change-feed.ts';
import type { TokenHasher } from './hashing/token-hasher.ts';
import type { TokenStore } from './store/token-store.ts';

/** What the RPCs work with. */
export interface Identity {
  readonly store: TokenStore;
  readonly hasher: TokenHasher;
  readonly changes: ChangeFeed;
  readonly clock: Clock;
  /** Counts answers of Resolve. */
  readonly resolved: (result: 'valid' | 'revoked' | 'unknown') => void;
}
