import { setTimeout as sleep } from 'node:timers/promises';
import type { Grant } from '../grants/grant.ts';
import { toGrant, toStoredGrant } from '../grants/sealed-grants.ts';
import type { HeldLock } from '../refresh-lock/refresh-lock.ts';
import { grantKeyOf, type OAuthAccount } from './oauth-account.ts';
import { RefreshFailedError } from './refresh-failed-error.ts';
import type { TokenAnswer } from './token-answer.ts';
import type { RefresherParts } from './token-refresher.ts';

export interface Holding {
  readonly held: HeldLock;
  readonly lockMs: number;
}

type NewTokens = Extract<TokenAnswer, { readonly kind: 'tokens' }>;

/** Stores what a token endpoint answered. Nobody else has it, and the refresh token before it may be of no use any more. */
export class GrantKeeper {
  readonly #parts: RefresherParts;

  constructor(parts: RefresherParts) {
    this.#parts = parts;
  }

  /**
   * The grant with its new tokens, once they are stored; or the tokens that somebody else stored in between. Who takes the lock
   * after one that was suspended may be refused by the endpoint, for the refresh token has been used: that problem is none,
   * and gives way to what the first one was given.
   */
  async keep(account: OAuthAccount, before: Grant, tokens: NewTokens, holding: Holding): Promise<Grant> {
    let stored = before;
    do {
      const grant = this.#withTokens(stored, tokens);
      if (await this.#saveInTheEnd(account, grant, holding)) return grant;
      stored = await this.#stored(account);
    } while (stored.access === undefined && isSameToken(stored, before));
    return stored;
  }

  /** The grant with the reason why a person must act; or the one that somebody else stored in between. */
  async keepProblem(account: OAuthAccount, before: Grant, problem: string): Promise<Grant> {
    const grant: Grant = { ...before, version: before.version + 1, access: undefined, problem };
    const { store, sealer } = this.#parts;
    const saved = await store.save(grantKeyOf(account), toStoredGrant(sealer, account.id, grant));
    return saved ? grant : this.#stored(account);
  }

  #withTokens(before: Grant, tokens: NewTokens): Grant {
    return {
      version: before.version + 1,
      refreshToken: tokens.refreshToken ?? before.refreshToken,
      access: { token: tokens.accessToken, issuedAtMs: this.#parts.clock.nowMs(), expiresAtMs: tokens.expiresAtMs },
      problem: undefined,
    };
  }

  /** Tries until it is stored, and keeps others from refreshing meanwhile. False when another grant is stored. */
  async #saveInTheEnd(account: OAuthAccount, grant: Grant, { held, lockMs }: Holding): Promise<boolean> {
    const { store, sealer, signal, events } = this.#parts;
    const sealed = toStoredGrant(sealer, account.id, grant);
    let triesAfterStop = 0;
    for (let attempt = 0; ; attempt++) {
      try {
        return await store.save(grantKeyOf(account), sealed);
      } catch (thrown) {
        events.notPersisted(account.pool, thrown);
        if (signal.aborted && ++triesAfterStop > lastTries)
          throw new RefreshFailedError('new tokens could not be stored');
        await held.extend(lockMs).catch(() => false);
        await sleep(Math.min(longestWaitMs, firstWaitMs * 2 ** attempt));
      }
    }
  }

  async #stored(account: OAuthAccount): Promise<Grant> {
    const { store, sealer } = this.#parts;
    const { id, credential } = account;
    return toGrant(sealer, { accountId: id, credential }, await store.read(grantKeyOf(account)));
  }
}

function isSameToken(one: Grant, other: Grant): boolean {
  return one.refreshToken.reveal() === other.refreshToken.reveal();
}

const firstWaitMs = 50;
const longestWaitMs = 2_000;

// A process that is to stop tries for some seconds more: with it the tokens would be lost.
const lastTries = 5;
