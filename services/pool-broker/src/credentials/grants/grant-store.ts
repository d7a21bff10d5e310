import type { Sealed } from '../sealing/sealer.ts';

/**
 * Which tokens: those of an account that descend from one credential. With another refresh token in the configuration an account has
 * a grant of its own, so that replicas that have read the new configuration do not disturb those that have not.
 */
export interface GrantKey {
  /** "<pool>/<name>" */
  readonly accountId: string;
  readonly origin: string;
}

/** A grant as it is kept: nobody without the key can read its tokens. */
export interface StoredGrant {
  /** From 1 on. */
  readonly version: number;
  readonly tokens: Sealed;
  readonly problem: string | undefined;
}

export type Claim =
  /** `grant` is what is stored at this moment; undefined when nothing is. */
  | { readonly kind: 'claimed'; readonly grant: StoredGrant | undefined }
  /** Somebody with the same number or a higher one has begun already. */
  | { readonly kind: 'superseded' };

/** Where grants live for all replicas. Calls reject when it can't be reached. */
export interface GrantStore {
  read(key: GrantKey): Promise<StoredGrant | undefined>;
  /** The last number that claimed a grant; 0: none did. */
  lastFence(key: GrantKey): Promise<number>;
  /** Notes who refreshes now, by the fence of his lock, and gives what is stored. One that is not higher than the last is refused. */
  claim(key: GrantKey, fence: number): Promise<Claim>;
  /** Replaces the version before. False: somebody else has replaced it. Repeating it does no harm. */
  save(key: GrantKey, grant: StoredGrant): Promise<boolean>;
  /** The problems of those grants that have one, by account. */
  problems(keys: readonly GrantKey[]): Promise<ReadonlyMap<string, string>>;
}
