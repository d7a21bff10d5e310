import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '@gateway/time';
import type { CredentialEvents } from '../credential-events.ts';
import type { Grant } from '../grants/grant.ts';
import type { GrantStore } from '../grants/grant-store.ts';
import { toGrant, toStoredGrant } from '../grants/sealed-grants.ts';
import type { HeldLock, RefreshLock } from '../refresh-lock/refresh-lock.ts';
import type { Sealer } from '../sealing/sealer.ts';
import { GrantKeeper } from './grant-keeper.ts';
import { grantKeyOf, type OAuthAccount } from './oauth-account.ts';
import { RefreshBackoff } from './refresh-backoff.ts';
import { GrantGoneError, RefreshFailedError } from './refresh-failed-error.ts';
import type { TokenEndpoint } from './token-endpoint.ts';

export interface RefresherParts {
  readonly store: GrantStore;
  readonly lock: RefreshLock;
  readonly sealer: Sealer;
  readonly endpoint: TokenEndpoint;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly events: CredentialEvents;
  readonly requestTimeoutMs: number;
  /** Aborted when the broker stops. */
  readonly signal: AbortSignal;
}

/**
 * Gets new tokens, for each account one replica at a time: a refresh token that is used twice makes the provider revoke everything
 * that came of it. New tokens are stored before anybody uses them.
 */
export class TokenRefresher {
  readonly #parts: RefresherParts;
  readonly #keeper: GrantKeeper;
  readonly #backoff: RefreshBackoff;
  readonly #underWay = new Map<string, Promise<Grant>>();
  /** Accounts whose last answer may have been lost on the way, with new tokens in it. */
  readonly #answerLost = new Set<string>();

  constructor(parts: RefresherParts) {
    this.#parts = parts;
    this.#keeper = new GrantKeeper(parts);
    this.#backoff = new RefreshBackoff(parts.clock, parts.random);
  }

  /** What is stored now. @throws UnreadableGrantError, or what the store throws. */
  async read(account: OAuthAccount): Promise<Grant> {
    return this.#toGrant(account, await this.#parts.store.read(grantKeyOf(account)));
  }

  /**
   * A grant that is newer than the one with that version: refreshed here, or by another replica meanwhile. It has a problem when the
   * provider does not take the refresh token any more. Calls at the same time share one refresh.
   *
   * @throws RefreshFailedError when there is none now, and the reason may pass.
   */
  newerThan(account: OAuthAccount, version: number): Promise<Grant> {
    const underWay = this.#underWay.get(account.id);
    if (underWay !== undefined) return underWay;
    const refreshed = this.#newerThan(account, version).finally(() => this.#underWay.delete(account.id));
    this.#underWay.set(account.id, refreshed);
    return refreshed;
  }

  /** Lets a refresh token be tried again that was refused. False: it was not, or somebody else has changed it meanwhile. */
  async forgetProblem(account: OAuthAccount): Promise<boolean> {
    const grant = await this.read(account);
    if (grant.problem === undefined) return false;
    const { store, sealer } = this.#parts;
    const next: Grant = { ...grant, version: grant.version + 1, problem: undefined };
    return store.save(grantKeyOf(account), toStoredGrant(sealer, account.id, next));
  }

  /** Resolves when nothing is under way any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay.values());
  }

  async #newerThan(account: OAuthAccount, version: number): Promise<Grant> {
    const reasonToWait = this.#backoff.reasonToWait(account.id);
    if (reasonToWait !== undefined) throw new RefreshFailedError(reasonToWait);
    try {
      const grant = await this.#waitForNewer(account, version);
      this.#backoff.succeeded(account.id);
      return grant;
    } catch (thrown) {
      const { message, retryAfterMs = 0 } = thrown instanceof RefreshFailedError ? thrown : unexpected(thrown);
      this.#backoff.failed(account.id, message, retryAfterMs);
      this.#parts.events.refreshEnded(account.pool, 'failed', message);
      throw thrown;
    }
  }

  /** Refreshes, or waits for the replica that does. */
  async #waitForNewer(account: OAuthAccount, version: number): Promise<Grant> {
    const { random, signal, requestTimeoutMs } = this.#parts;
    const endsAtMs = performance.now() + 2 * requestTimeoutMs;
    while (performance.now() < endsAtMs && !signal.aborted) {
      const stored = await this.read(account);
      if (isNews(stored, version)) return this.#shared(account, stored);
      if (stored.version < version) throw new GrantGoneError();
      const grant = await this.#refreshAlone(account, version);
      if (grant !== undefined) return grant;
      await sleep(pollMs * (0.5 + random()));
    }
    throw new RefreshFailedError('another replica is refreshing and does not come to an end');
  }

  /** Undefined: somebody else is at it. */
  async #refreshAlone(account: OAuthAccount, version: number): Promise<Grant | undefined> {
    const { store, lock } = this.#parts;
    const takenAtMs = performance.now();
    const key = grantKeyOf(account);
    const held = await lock.take(key, this.#lockMs, await store.lastFence(key));
    if (held === undefined) return undefined;
    try {
      const claim = await store.claim(key, held.fence);
      if (claim.kind === 'superseded') return undefined;
      // Whoever held the lock before may have refreshed since we looked.
      const grant = this.#toGrant(account, claim.grant);
      if (isNews(grant, version)) return this.#shared(account, grant);
      // A process that was suspended may have lost the lock without noticing.
      if (performance.now() - takenAtMs > this.#lockMs - 2 * this.#parts.requestTimeoutMs) return undefined;
      return await this.#askEndpoint(account, grant, held);
    } finally {
      await held.release().catch(() => undefined);
    }
  }

  async #askEndpoint(account: OAuthAccount, grant: Grant, held: HeldLock): Promise<Grant> {
    const { endpoint, requestTimeoutMs, clock, events } = this.#parts;
    const answer = await endpoint({
      credential: account.credential,
      refreshToken: grant.refreshToken,
      timeoutMs: requestTimeoutMs,
      nowMs: () => clock.nowMs(),
    });
    switch (answer.kind) {
      case 'tokens': {
        const kept = await this.#keeper.keep(account, grant, answer, { held, lockMs: this.#lockMs });
        this.#answerLost.delete(account.id);
        events.refreshEnded(account.pool, 'refreshed');
        return kept;
      }
      case 'invalid_grant':
        return this.#afterInvalidGrant(account, grant);
      case 'refused':
        throw new RefreshFailedError(`the token endpoint refuses: ${answer.reason}`, refusedPauseMs);
      case 'unavailable':
        if (answer.mayHaveCounted) this.#answerLost.add(account.id);
        throw new RefreshFailedError(`the token endpoint fails: ${answer.reason}`, answer.retryAfterMs);
    }
  }

  /** Somebody who lost the lock may have been faster: then what he stored is good. */
  async #afterInvalidGrant(account: OAuthAccount, grant: Grant): Promise<Grant> {
    const again = await this.read(account);
    if (isNews(again, grant.version)) return this.#shared(account, again);
    const problem = this.#answerLost.has(account.id) ? `${invalidGrant} ${perhapsLost}` : invalidGrant;
    this.#parts.events.refreshEnded(account.pool, 'revoked', problem);
    return this.#keeper.keepProblem(account, grant, problem);
  }

  #shared({ pool }: OAuthAccount, grant: Grant): Grant {
    this.#parts.events.refreshEnded(pool, 'shared');
    return grant;
  }

  #toGrant({ id, pool, credential }: OAuthAccount, stored: Parameters<typeof toGrant>[2]): Grant {
    try {
      return toGrant(this.#parts.sealer, { accountId: id, credential }, stored);
    } catch (thrown) {
      this.#parts.events.unreadable(pool, thrown);
      throw thrown;
    }
  }

  /** Long enough for the request and for storing its answer. */
  get #lockMs(): number {
    return 4 * this.#parts.requestTimeoutMs;
  }
}

const invalidGrant =
  'The provider does not take the refresh token any more (invalid_grant). Get a new one from the provider.';

const perhapsLost = 'An answer of its token endpoint was lost before, which may be why.';

const pollMs = 100;

// What is configured must change first; looking again now and then notices that the provider's side has.
const refusedPauseMs = 300_000;

/** A grant that makes asking needless: its tokens are newer, or nobody could get any. */
function isNews(grant: Grant, version: number): boolean {
  return grant.problem !== undefined || (grant.version > version && grant.access !== undefined);
}

function unexpected(thrown: unknown): RefreshFailedError {
  return new RefreshFailedError(`what is stored can't be used: ${thrown instanceof Error ? thrown.name : 'unknown'}`);
}
