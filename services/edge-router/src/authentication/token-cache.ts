import type { Clock } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import type { Principal } from './principal.ts';

export interface TokenCacheOptions {
  /** Asks the source of truth; undefined for an unknown or revoked token. */
  readonly resolve: (tokenSha256: Buffer) => Promise<Principal | undefined>;
  readonly clock: Clock;
  /** How long a known token is believed without asking again. */
  readonly freshMs: number;
  /** Called when the source can't be asked and the last known answer is served. */
  readonly onStale?: (fault: unknown) => void;
}

interface Known {
  readonly principal: Principal;
  resolvedAtMs: number;
}

/** A question to the source that is not answered yet. */
interface Lookup {
  readonly answer: Promise<Principal | undefined>;
  /** Whether a token may have changed since the source was asked. */
  mayHaveChanged: (principal: Principal) => boolean;
}

/**
 * Resolved tokens. While the source of truth is away, the last known answer is served; a token that was once found
 * revoked never comes back from here.
 */
export class TokenCache {
  readonly #options: TokenCacheOptions;
  readonly #known = new LRUCache<string, Known>({ max: 100_000 });
  /** When a token was found unknown. Bounded: guessing floods must not fill the memory. */
  readonly #unknownSinceMs = new LRUCache<string, number>({ max: 10_000 });
  readonly #lookups = new Map<string, Lookup>();

  constructor(options: TokenCacheOptions) {
    this.#options = options;
  }

  /** The principal of a token, or undefined when it is unknown or revoked. Throws when the source can't say. */
  async resolve(tokenSha256: Buffer): Promise<Principal | undefined> {
    const key = tokenSha256.toString('latin1');
    const nowMs = this.#options.clock.nowMs();
    const known = this.#known.get(key);
    if (known !== undefined && nowMs - known.resolvedAtMs < this.#options.freshMs) return known.principal;
    const unknownSinceMs = this.#unknownSinceMs.get(key);
    if (unknownSinceMs !== undefined && nowMs - unknownSinceMs < unknownFreshMs) return undefined;
    return (this.#lookups.get(key) ?? this.#ask(key, tokenSha256)).answer;
  }

  /** These tokens changed: the next request asks again, and a lookup under way does before it answers. */
  expire(tokenIds: readonly string[]): void {
    const changed = new Set(tokenIds);
    this.#expireWhere(({ tokenId }) => changed.has(tokenId));
  }

  /** Any token may have changed: every next request asks again. */
  expireAll(): void {
    this.#expireWhere(() => true);
  }

  /** Entries are kept as stale, not deleted: while the source is away, a known token beats a refusal. */
  #expireWhere(hasChanged: (principal: Principal) => boolean): void {
    for (const known of this.#known.values()) if (hasChanged(known.principal)) known.resolvedAtMs = longAgo;
    for (const lookup of this.#lookups.values()) {
      const before = lookup.mayHaveChanged;
      lookup.mayHaveChanged = (principal) => before(principal) || hasChanged(principal);
    }
  }

  #ask(key: string, tokenSha256: Buffer): Lookup {
    const { promise, resolve, reject } = Promise.withResolvers<Principal | undefined>();
    const lookup: Lookup = { answer: promise, mayHaveChanged: unchanged };
    this.#lookups.set(key, lookup);
    this.#lookUp(key, tokenSha256, lookup)
      .catch((fault: unknown) => this.#lastKnown(key, fault))
      .finally(() => this.#lookups.delete(key))
      .then(resolve, reject);
    return lookup;
  }

  /** The source may have read the token before it changed: then it is asked again. */
  async #lookUp(key: string, tokenSha256: Buffer, lookup: Lookup): Promise<Principal | undefined> {
    for (;;) {
      lookup.mayHaveChanged = unchanged;
      const principal = await this.#options.resolve(tokenSha256);
      const isStale = principal !== undefined && lookup.mayHaveChanged(principal);
      this.#remember(key, principal, isStale ? longAgo : this.#options.clock.nowMs());
      if (!isStale) return principal;
    }
  }

  #remember(key: string, principal: Principal | undefined, resolvedAtMs: number): void {
    if (principal === undefined) {
      this.#known.delete(key);
      this.#unknownSinceMs.set(key, resolvedAtMs);
    } else {
      this.#unknownSinceMs.delete(key);
      this.#known.set(key, { principal, resolvedAtMs });
    }
  }

  #lastKnown(key: string, fault: unknown): Principal {
    const lastKnown = this.#known.get(key);
    if (lastKnown === undefined) throw fault;
    this.#options.onStale?.(fault);
    return lastKnown.principal;
  }
}

const unknownFreshMs = 5_000;
const longAgo = Number.NEGATIVE_INFINITY;
const unchanged = () => false;
