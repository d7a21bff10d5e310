import type { EventEmitter } from 'node:events';
import { DecryptionError } from '@gateway/config/encryption';
import { monotonicMs, randomId, sleep } from '@gateway/time';
import type { CredentialEvents } from '../metrics.ts';
import type { PoolStore } from '../store/pool-store.ts';
import type { Grant, GrantStore, OAuthAccount } from './grants.ts';
import type { NewTokens, TokenEndpoint } from './token-endpoint.ts';

/** The message contains no text from a provider or a person. */
export class RefreshFailedError extends Error {
  override readonly name = 'RefreshFailedError';
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs = 0) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

export interface CredentialChanges {
  /** The provider refuses an account's refresh token, or the token may be tried again. */
  readonly problem: [];
  /** An account has a newer access token than this replica knew, issued at that time. */
  readonly renewed: [accountId: string, issuedAtMs: number];
}

export interface RefreshContext {
  readonly grants: GrantStore;
  readonly endpoint: TokenEndpoint;
  readonly refreshAheadMs: number;
  readonly requestTimeoutMs: number;
  readonly store: Pick<PoolStore, 'nowMs'>;
  readonly random: () => number;
  readonly events: CredentialEvents;
  readonly changes: EventEmitter<CredentialChanges>;
  /** Aborted when the broker stops. */
  readonly signal: AbortSignal;
}

/**
 * Refreshes in one replica at a time, because a provider revokes everything when a refresh token is
 * used twice. New tokens are stored before they are used.
 */
export class TokenRefresher {
  readonly #account: OAuthAccount;
  readonly #context: RefreshContext;
  readonly #holder = randomId();
  /** Long enough for the request and for storing its answer. */
  readonly #reservationMs: number;
  running: Promise<Grant> | undefined;
  #failures = 0;
  #pause = { untilMs: 0, reason: '' };
  /** The last answer may have been lost in transit, with new tokens in it. */
  #answerLost = false;

  constructor(account: OAuthAccount, context: RefreshContext) {
    this.#account = account;
    this.#context = context;
    this.#reservationMs = 4 * context.requestTimeoutMs;
  }

  /** Reads the stored grant. @throws DecryptionError, or what the store throws. */
  async read(): Promise<Grant> {
    try {
      return await this.#context.grants.read(this.#account);
    } catch (thrown) {
      if (thrown instanceof DecryptionError) this.#context.events.unreadable(this.#account.pool, thrown);
      throw thrown;
    }
  }

  /**
   * Returns a newer grant than that one. Concurrent calls share one refresh.
   * @throws RefreshFailedError when there is none now.
   */
  newerThan(known: Grant): Promise<Grant> {
    this.running ??= this.#newerThan(known).finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  /**
   * Allows a refused refresh token to be tried again. False: it was not refused, or another replica
   * changed the grant in the meantime.
   */
  async forgetProblem(): Promise<boolean> {
    const { version, problem, ...grant } = await this.read();
    return problem !== undefined && this.#context.grants.save(this.#account, { ...grant, version: version + 1 });
  }

  async #newerThan(known: Grant): Promise<Grant> {
    const { store, events, random } = this.#context;
    if (store.nowMs() < this.#pause.untilMs) throw new RefreshFailedError(this.#pause.reason);
    try {
      const grant = await this.#refreshOrWait(known);
      this.#failures = 0;
      return grant;
    } catch (thrown) {
      // Pauses for a failing endpoint grow, and last at least as long as the endpoint asked for,
      // within limits.
      const { message, retryAfterMs } = thrown instanceof RefreshFailedError ? thrown : unexpected(thrown);
      const guessMs = Math.min(60_000, 1_000 * 2 ** this.#failures++) * (1 + 0.25 * random());
      const pauseMs = Math.max(guessMs, Math.min(retryAfterMs, longestGivenMs));
      this.#pause = { untilMs: store.nowMs() + pauseMs, reason: message };
      events.refreshEnded(this.#account.pool, 'failed', message);
      throw thrown;
    }
  }

  async #refreshOrWait(known: Grant): Promise<Grant> {
    const { grants, random, signal, requestTimeoutMs } = this.#context;
    const endsAtMs = monotonicMs() + 2 * requestTimeoutMs;
    while (monotonicMs() < endsAtMs && !signal.aborted) {
      const reservedAtMs = await this.#reserve();
      try {
        const stored = await this.read();
        if (isNews(stored, known)) return this.#shared(stored);
        // The stored tokens are lost. The configured refresh token may be sent again only if the
        // provider never replaced it.
        const isFirst = known.refreshToken.reveal() === this.#account.credential.refreshToken.reveal();
        if (stored.version < known.version && !isFirst) {
          throw new RefreshFailedError('its stored tokens are gone');
        }
        // A process that was paused may have lost its reservation without noticing.
        const isReserved = reservedAtMs !== undefined && monotonicMs() - reservedAtMs < 2 * requestTimeoutMs;
        if (isReserved) return await this.#refresh(stored);
      } finally {
        if (reservedAtMs !== undefined) await grants.release(this.#account, this.#holder).catch(() => undefined);
      }
      await sleep(pollMs * (0.5 + random()));
    }
    throw new RefreshFailedError('another replica has been refreshing for too long');
  }

  /**
   * When this replica made its reservation, by `monotonicMs()`. Undefined: another replica
   * holds it.
   */
  async #reserve(): Promise<number | undefined> {
    const reserve = () => this.#context.grants.reserve(this.#account, this.#holder, this.#reservationMs);
    let reservedAtMs = monotonicMs();
    let reservation = await reserve();
    if (reservation === 'taken_over') {
      // A previous holder that could not store its tokens during an outage of the store does so
      // now.
      await sleep(takeOverMs);
      reservedAtMs = monotonicMs();
      reservation = await reserve();
    }
    return reservation === 'busy' ? undefined : reservedAtMs;
  }

  async #refresh(grant: Grant): Promise<Grant> {
    const { endpoint, store, events } = this.#context;
    const { credential, pool } = this.#account;
    const answer = await endpoint(credential, grant.refreshToken, store.nowMs());
    if (answer.kind === 'invalid_grant') return this.#afterInvalidGrant(grant);
    if (answer.kind === 'failed') {
      this.#answerLost ||= answer.mayHaveCounted;
      throw new RefreshFailedError(answer.reason, answer.retryAfterMs);
    }
    const stored = await this.#store(grant, answer);
    this.#answerLost = false;
    events.refreshEnded(pool, 'refreshed');
    return stored;
  }

  /**
   * Retries until the tokens are stored, because no other copy exists, and keeps other replicas
   * from refreshing in the meantime.
   */
  async #store(before: Grant, { accessToken: token, refreshToken, expiresAtMs }: NewTokens): Promise<Grant> {
    const { grants, store, signal, events } = this.#context;
    const tokens = {
      refreshToken: refreshToken ?? before.refreshToken,
      access: { token, issuedAtMs: store.nowMs(), expiresAtMs },
    };
    let stored = before;
    for (let failures = 0, failuresAfterStop = 0; ; ) {
      try {
        const grant: Grant = { version: stored.version + 1, ...tokens };
        if (await grants.save(this.#account, grant)) return grant;
        stored = await this.read();
        // A replica that sent its request after this one was refused because this one had
        // succeeded: these tokens replace its problem.
        if (stored.access !== undefined || stored.refreshToken.reveal() !== before.refreshToken.reveal()) return stored;
      } catch (thrown) {
        events.notPersisted(this.#account.pool, thrown);
        if (signal.aborted && ++failuresAfterStop > lastTries) {
          throw new RefreshFailedError('new tokens could not be stored');
        }
        await sleep(Math.min(longestRetryMs, 50 * 2 ** failures++));
        await grants.reserve(this.#account, this.#holder, this.#reservationMs).catch(() => undefined);
      }
    }
  }

  /**
   * A replica that lost its reservation without noticing may have been faster: then its stored
   * tokens are valid.
   */
  async #afterInvalidGrant(grant: Grant): Promise<Grant> {
    const { grants, events } = this.#context;
    const again = await this.read();
    if (isNews(again, grant)) return this.#shared(again);
    const problem = this.#answerLost ? `${invalidGrant} ${perhapsLost}` : invalidGrant;
    events.refreshEnded(this.#account.pool, 'revoked', problem);
    const ended: Grant = { version: grant.version + 1, refreshToken: grant.refreshToken, problem };
    return (await grants.save(this.#account, ended)) ? ended : this.read();
  }

  #shared(grant: Grant): Grant {
    this.#context.events.refreshEnded(this.#account.pool, 'shared');
    return grant;
  }
}

const invalidGrant = 'The provider rejects the refresh token (invalid_grant). Get a new one from the provider.';
const perhapsLost = 'A response of its token endpoint was lost earlier, which may be the cause.';

const pollMs = 100;
const longestRetryMs = 2_000;
const longestGivenMs = 600_000;
// Longer than the pause of the previous holder between two attempts to store its tokens.
const takeOverMs = 2 * longestRetryMs;
// How many more attempts a stopping process makes, because the tokens would be lost with it.
const lastTries = 5;

/**
 * True for a grant that makes a refresh unnecessary: it has other tokens than those known, or has a
 * problem.
 */
function isNews(stored: Grant, known: Grant): boolean {
  if (stored.problem !== undefined || stored.access === undefined) return stored.problem !== undefined;
  // The stored grant may have been lost and started again.
  return stored.version !== known.version || stored.access.token.reveal() !== known.access?.token.reveal();
}

function unexpected(thrown: unknown): RefreshFailedError {
  return new RefreshFailedError(
    `its stored tokens cannot be used: ${thrown instanceof Error ? thrown.name : 'unknown'}`,
  );
}
