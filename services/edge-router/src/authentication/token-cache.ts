import { setTimeout as sleep } from 'node:timers/promises';
import type { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Clock } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import type { Principal } from './authenticate.ts';

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

/**
 * Resolved tokens. While the source of truth is away, the last known answer is served; a token that was once found
 * revoked never comes back from here.
 */
export class TokenCache {
  readonly #options: TokenCacheOptions;
  readonly #known = new LRUCache<string, Known>({ max: 100_000 });
  /** When a token was found unknown. Bounded: guessing floods must not fill the memory. */
  readonly #unknownSinceMs = new LRUCache<string, number>({ max: 10_000 });
  readonly #lookups = new Map<string, Promise<Principal | undefined>>();
  /** Which tokens have changed while lookups were under way. */
  #changes: ((principal: Principal) => boolean)[] = [];

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
    const lookup = this.#lookups.get(key) ?? this.#lookUp(key, tokenSha256);
    this.#lookups.set(key, lookup);
    return lookup;
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
    if (this.#lookups.size > 0) this.#changes.push(hasChanged);
  }

  /** The source may have read the token before it changed: then it is asked again. */
  async #lookUp(key: string, tokenSha256: Buffer): Promise<Principal | undefined> {
    const { resolve, clock, onStale } = this.#options;
    try {
      for (;;) {
        const before = this.#changes.length;
        const principal = await resolve(tokenSha256);
        if (principal === undefined) {
          this.#known.delete(key);
          this.#unknownSinceMs.set(key, clock.nowMs());
          return undefined;
        }
        this.#unknownSinceMs.delete(key);
        const isStale = this.#changes.slice(before).some((hasChanged) => hasChanged(principal));
        this.#known.set(key, { principal, resolvedAtMs: isStale ? longAgo : clock.nowMs() });
        if (!isStale) return principal;
      }
    } catch (fault) {
      const lastKnown = this.#known.get(key);
      if (lastKnown === undefined) throw fault;
      onStale?.(fault);
      return lastKnown.principal;
    } finally {
      this.#lookups.delete(key);
      if (this.#lookups.size === 0) this.#changes = [];
    }
  }
}

const unknownFreshMs = 5_000;
const longAgo = Number.NEGATIVE_INFINITY;

/**
 * Expires changed tokens in the cache as identity reports them. Ends with the signal; a lost stream is opened again, and
 * since changes may have been missed meanwhile, its first message expires everything.
 */
export async function watchTokenChanges(
  identity: Client<typeof IdentityService>,
  tokens: TokenCache,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      let isFirst = true;
      for await (const { tokenIds } of identity.watchChanges({}, { signal })) {
        if (isFirst) tokens.expireAll();
        else tokens.expire(tokenIds);
        isFirst = false;
      }
    } catch {
      // Identity is away: cached tokens expire by their time, and the stream is tried again.
    }
    await sleep(reconnectMs, undefined, { signal }).catch(() => undefined);
  }
}

const reconnectMs = 1_000;
