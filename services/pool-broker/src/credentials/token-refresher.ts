import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '@gateway/time';
import type { CredentialEvents } from './credential-events.ts';
import type { Grant, GrantStore, OAuthAccount } from './grant-store.ts';
import { UnreadableGrantError } from './grant-store.ts';
import type { TokenAnswer, TokenEndpoint } from './token-endpoint.ts';

/** There is no new access token now. The message says why, without anything that a provider or a person wrote. */
export class RefreshFailedError extends Error {
  override readonly name: string = 'RefreshFailedError';
  /** Asking earlier is of no use. */
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs = 0) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The tokens that were known are stored no more, and the refresh token that the configuration has may have been replaced long ago. */
export class GrantGoneError extends RefreshFailedError {
  override readonly name = 'GrantGoneError';

  constructor() {
    super('what was stored of its tokens is gone');
  }
}

export interface RefresherParts {
  readonly store: GrantStore;
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
 * that came of it. New tokens are stored before any request is sent with them.
 */
export class TokenRefresher {
  readonly #parts: RefresherParts;
  readonly #holder = randomUUID();
  readonly #running = new Map<string, Promise<Grant>>();
  readonly #failures = new Map<string, Failures>();
  /** Accounts whose last answer may have been lost on the way, with new tokens in it. */
  readonly #answerLost = new Set<string>();

  constructor(parts: RefresherParts) {
    this.#parts = parts;
  }

  /** What is stored now. @throws UnreadableGrantError, or what the store throws. */
  async read(account: OAuthAccount): Promise<Grant> {
    try {
      return await this.#parts.store.read(account);
    } catch (thrown) {
      if (thrown instanceof UnreadableGrantError) this.#parts.events.unreadable(account.pool, thrown);
      throw thrown;
    }
  }

  /**
   * A grant that is newer than the one with that version: refreshed here, or by another replica meanwhile. It has a problem when the
   * provider does not take the refresh token any more. Calls at the same time share one refresh.
   *
   * @throws RefreshFailedError when there is none now, and the reason may pass.
   */
  newerThan(account: OAuthAccount, version: number): Promise<Grant> {
    const running = this.#running.get(account.id);
    if (running !== undefined) return running;
    const refreshed = this.#newerThan(account, version).finally(() => this.#running.delete(account.id));
    this.#running.set(account.id, refreshed);
    return refreshed;
  }

  /** Lets a refresh token be tried again that was refused. False: it was not, or another replica has changed the grant meanwhile. */
  async forgetProblem(account: OAuthAccount): Promise<boolean> {
    const grant = await this.read(account);
    if (grant.problem === undefined) return false;
    return this.#parts.store.save(account, { ...grant, version: grant.version + 1, problem: undefined });
  }

  /** Resolves when no refresh is running. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }

  async #newerThan(account: OAuthAccount, version: number): Promise<Grant> {
    const { clock, events } = this.#parts;
    const failures = this.#failures.get(account.id);
    if (failures !== undefined && clock.nowMs() < failures.notBeforeMs) throw new RefreshFailedError(failures.reason);
    try {
      const grant = await this.#waitForNewer(account, version);
      this.#failures.delete(account.id);
      return grant;
    } catch (thrown) {
      const { message, retryAfterMs } = thrown instanceof RefreshFailedError ? thrown : unexpected(thrown);
      const count = (failures?.count ?? 0) + 1;
      const notBeforeMs = clock.nowMs() + this.#waitMs(count, retryAfterMs);
      this.#failures.set(account.id, { count, notBeforeMs, reason: message });
      events.refreshEnded(account.pool, 'failed', message);
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

  /** Undefined: another replica has the lock. */
  async #refreshAlone(account: OAuthAccount, version: number): Promise<Grant | undefined> {
    const { store, requestTimeoutMs } = this.#parts;
    const lockedAtMs = performance.now();
    const locked = await store.lock(account, this.#holder, this.#lockMs);
    if (locked === 'busy') return undefined;
    try {
      // A holder that could not store its tokens as long as the store was away does so now.
      if (locked === 'taken_over') await sleep(takeOverMs);
      const grant = await this.read(account);
      if (isNews(grant, version)) return this.#shared(account, grant);
      // A process that stood still may have lost the lock without noticing.
      if (performance.now() - lockedAtMs > this.#lockMs - 2 * requestTimeoutMs) return undefined;
      return await this.#refresh(account, grant);
    } finally {
      await store.unlock(account, this.#holder).catch(() => undefined);
    }
  }

  async #refresh(account: OAuthAccount, grant: Grant): Promise<Grant> {
    const { endpoint, requestTimeoutMs: timeoutMs, clock, events } = this.#parts;
    const { credential } = account;
    const request = { credential, refreshToken: grant.refreshToken, timeoutMs, nowMs: () => clock.nowMs() };
    const answer = await endpoint(request);
    switch (answer.kind) {
      case 'tokens': {
        const stored = await this.#storeInTheEnd(account, grant, answer);
        this.#answerLost.delete(account.id);
        events.refreshEnded(account.pool, 'refreshed');
        return stored;
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

  /** Tries until new tokens are stored, for they are nowhere else, and keeps other replicas from refreshing meanwhile. */
  async #storeInTheEnd(account: OAuthAccount, before: Grant, tokens: NewTokens): Promise<Grant> {
    const { store, signal, events } = this.#parts;
    let triesAfterStop = 0;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#store(account, before, tokens);
      } catch (thrown) {
        events.notPersisted(account.pool, thrown);
        if (signal.aborted && ++triesAfterStop > lastTries)
          throw new RefreshFailedError('new tokens could not be stored');
        await sleep(Math.min(longestRetryMs, 50 * 2 ** attempt));
        await store.lock(account, this.#holder, this.#lockMs).catch(() => undefined);
      }
    }
  }

  /** The grant with its new tokens, once they are stored; or the tokens that another replica stored in between. */
  async #store(account: OAuthAccount, before: Grant, tokens: NewTokens): Promise<Grant> {
    const { store, clock } = this.#parts;
    const { accessToken, refreshToken = before.refreshToken, expiresAtMs } = tokens;
    const access = { token: accessToken, issuedAtMs: clock.nowMs(), expiresAtMs };
    for (let stored = before; ; ) {
      const grant: Grant = { version: stored.version + 1, refreshToken, access, problem: undefined };
      if (await store.save(account, grant)) return grant;
      stored = await this.read(account);
      // A replica that asked after this one was refused because this one had been answered: that problem gives way.
      if (stored.access !== undefined || stored.refreshToken.reveal() !== before.refreshToken.reveal()) return stored;
    }
  }

  /** A replica that lost the lock without noticing may have been faster: then what it stored is good. */
  async #afterInvalidGrant(account: OAuthAccount, grant: Grant): Promise<Grant> {
    const again = await this.read(account);
    if (isNews(again, grant.version)) return this.#shared(account, again);
    const problem = this.#answerLost.has(account.id) ? `${invalidGrant} ${perhapsLost}` : invalidGrant;
    this.#parts.events.refreshEnded(account.pool, 'revoked', problem);
    const ended: Grant = { ...grant, version: grant.version + 1, access: undefined, problem };
    return (await this.#parts.store.save(account, ended)) ? ended : this.read(account);
  }

  #shared({ pool }: OAuthAccount, grant: Grant): Grant {
    this.#parts.events.refreshEnded(pool, 'shared');
    return grant;
  }

  /** A token endpoint that fails is left alone for longer each time, and for as long as it said, within reason. */
  #waitMs(failures: number, retryAfterMs: number): number {
    const guessMs = Math.min(60_000, 1_000 * 2 ** (failures - 1)) * (1 + 0.25 * this.#parts.random());
    return Math.max(guessMs, Math.min(retryAfterMs, longestGivenMs));
  }

  /** Long enough for the request and for storing its answer. */
  get #lockMs(): number {
    return 4 * this.#parts.requestTimeoutMs;
  }
}

type NewTokens = Extract<TokenAnswer, { readonly kind: 'tokens' }>;

interface Failures {
  readonly count: number;
  readonly notBeforeMs: number;
  readonly reason: string;
}

const invalidGrant =
  'The provider does not take the refresh token any more (invalid_grant). Get a new one from the provider.';

const perhapsLost = 'An answer of its token endpoint was lost before, which may be why.';

const pollMs = 100;

const longestRetryMs = 2_000;

// Longer than the holder before waits between two tries to store its tokens.
const takeOverMs = 2 * longestRetryMs;

// A process that is to stop tries for some seconds more: with it the tokens would be lost.
const lastTries = 5;

const longestGivenMs = 600_000;

// What is configured must change first; looking again now and then notices that the provider's side has.
const refusedPauseMs = 300_000;

/** True for a grant that makes asking needless: its tokens are newer, or there are none to be had. */
function isNews(grant: Grant, version: number): boolean {
  return grant.problem !== undefined || (grant.version > version && grant.access !== undefined);
}

function unexpected(thrown: unknown): RefreshFailedError {
  return new RefreshFailedError(`what is stored can't be used: ${thrown instanceof Error ? thrown.name : 'unknown'}`);
}
