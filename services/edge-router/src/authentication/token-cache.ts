import type { Clock } from '@gateway/time';
import type { Principal } from './principal.ts';

export interface TokenCacheOptions {
  /** Asks the source of truth; undefined for an unknown or revoked token. */
  readonly resolve: (tokenSha256: Buffer) => Promise<Principal | undefined>;
  readonly clock: Clock;
  /** How long a known token is believed without asking again. */
  readonly freshMs: number;
  /** Told when the source can't be asked and the last known answer is served. */
  readonly onStale?: (fault: unknown) => void;
}

interface Entry {
  readonly principal: Principal;
  readonly resolvedAtMs: number;
}

/** A question to the source that is not answered yet, and what changed since it was asked. */
interface Lookup {
  readonly answer: Promise<Principal | undefined>;
  readonly changes: Changes;
}

const unknownFreshMs = 5_000;
const maxUnknown = 10_000;
const maxKnown = 100_000;

/**
 * Resolved tokens. While the source of truth is away, the last known answer is served; a token that was once found
 * revoked never comes back from here.
 */
export class TokenCache {
  readonly #options: TokenCacheOptions;
  readonly #known = new Map<string, Entry>();
  /** Key → when it was found unknown. Bounded: guessing floods must not fill the memory. */
  readonly #unknown = new Map<string, number>();
  readonly #underWay = new Map<string, Lookup>();

  constructor(options: TokenCacheOptions) {
    this.#options = options;
  }

  /**
   * The principal of a token that was resolved a short while ago; undefined for all others.
   * @param tokenSha256 as text, one character a byte.
   */
  known(tokenSha256: string): Principal | undefined {
    const entry = this.#known.get(tokenSha256);
    return entry !== undefined && this.#isFresh(entry) ? entry.principal : undefined;
  }

  /** The principal of a token, or undefined when it is unknown or revoked. Throws when nobody can tell. */
  resolve(tokenSha256: Buffer): Promise<Principal | undefined> | Principal | undefined {
    const key = keyOf(tokenSha256);
    const entry = this.#known.get(key);
    if (entry !== undefined && this.#isFresh(entry)) return entry.principal;
    const unknownAt = this.#unknown.get(key);
    if (unknownAt !== undefined && this.#options.clock.nowMs() - unknownAt < unknownFreshMs) return undefined;
    return this.#ask(key, tokenSha256);
  }

  #isFresh({ resolvedAtMs }: Entry): boolean {
    return this.#options.clock.nowMs() - resolvedAtMs < this.#options.freshMs;
  }

  /** These tokens changed: the next request asks again, and a lookup under way does before it answers. */
  expire(tokenIds: readonly string[]): void {
    const changed = new Set(tokenIds);
    this.#expireWhere(({ tokenId }) => changed.has(tokenId));
    for (const { changes } of this.#underWay.values()) changes.add(changed);
  }

  /** Any token may have changed: every next request asks again. */
  expireAll(): void {
    this.#expireWhere(() => true);
    for (const { changes } of this.#underWay.values()) changes.addAll();
  }

  /** Entries are kept as stale, not deleted: while the source is away, a known token beats a refusal. */
  #expireWhere(isMeant: (principal: Principal) => boolean): void {
    for (const [key, entry] of this.#known) {
      if (isMeant(entry.principal)) this.#known.set(key, { ...entry, resolvedAtMs: Number.NEGATIVE_INFINITY });
    }
  }

  #ask(key: string, tokenSha256: Buffer): Promise<Principal | undefined> {
    const existing = this.#underWay.get(key);
    if (existing !== undefined) return existing.answer;
    const changes = new Changes();
    const answer = this.#lookUp(key, tokenSha256, changes)
      .catch((fault: unknown) => this.#serveLastKnown(key, fault))
      .finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, { answer, changes });
    return answer;
  }

  /** The source may have read the token before it changed: then it is asked again. */
  async #lookUp(key: string, tokenSha256: Buffer, changes: Changes): Promise<Principal | undefined> {
    for (;;) {
      changes.clear();
      const principal = await this.#options.resolve(tokenSha256);
      const mayHaveChanged = principal !== undefined && changes.has(principal.tokenId);
      this.#remember(key, principal, mayHaveChanged ? Number.NEGATIVE_INFINITY : this.#options.clock.nowMs());
      if (!mayHaveChanged) return principal;
    }
  }

  #remember(key: string, principal: Principal | undefined, resolvedAtMs: number): void {
    if (principal === undefined) {
      this.#known.delete(key);
      keepNewest(this.#unknown, maxUnknown);
      this.#unknown.set(key, resolvedAtMs);
    } else {
      this.#unknown.delete(key);
      keepNewest(this.#known, maxKnown);
      this.#known.set(key, { principal, resolvedAtMs });
    }
  }

  #serveLastKnown(key: string, fault: unknown): Principal {
    const lastKnown = this.#known.get(key);
    if (lastKnown === undefined) throw fault;
    this.#options.onStale?.(fault);
    return lastKnown.principal;
  }
}

/** Which tokens changed while a question is under way. */
class Changes {
  readonly #tokenIds = new Set<string>();
  #all = false;

  add(tokenIds: ReadonlySet<string>): void {
    for (const tokenId of tokenIds) this.#tokenIds.add(tokenId);
  }

  addAll(): void {
    this.#all = true;
  }

  has(tokenId: string): boolean {
    return this.#all || this.#tokenIds.has(tokenId);
  }

  clear(): void {
    this.#tokenIds.clear();
    this.#all = false;
  }
}

function keyOf(tokenSha256: Buffer): string {
  return tokenSha256.toString('latin1');
}

/** Makes room for one more entry by dropping the one that was put in first. */
function keepNewest(map: Map<string, unknown>, max: number): void {
  if (map.size < max) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
