import { createHash } from 'node:crypto';
import type { OAuthCredential, Secret } from '@gateway/config';

/** An account whose access tokens are got with a refresh token. */
export interface OAuthAccount {
  /** "<pool>/<name>" */
  readonly id: string;
  readonly pool: string;
  readonly credential: OAuthCredential;
}

/** The tokens that an account has now, and whether they can be used. */
export interface Grant {
  /** One more with each change. 0: nothing was stored yet. */
  readonly version: number;
  readonly refreshToken: Secret;
  readonly access: AccessToken | undefined;
  /** Why the account can't be used until a person acts. */
  readonly problem: string | undefined;
}

export interface AccessToken {
  readonly token: Secret;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
}

/**
 * Where grants live. An account has one grant for each refresh token that its configuration ever had (see `originOf`), so that
 * replicas which have read a new configuration do not disturb those which have not. Calls reject when it can't be reached.
 */
export interface GrantStore {
  /** What is stored, or the grant as the configuration gives it. @throws UnreadableGrantError */
  read(account: OAuthAccount): Promise<Grant>;
  /** Replaces the version before. False: that was replaced by another grant already. Repeating it does no harm. */
  save(account: OAuthAccount, grant: Grant): Promise<boolean>;
  /**
   * Reserves the right to refresh for `ttlMs` from now, or for longer when it is the holder's already. `taken_over`: the holder
   * before let it run out.
   */
  lock(account: OAuthAccount, holder: string, ttlMs: number): Promise<'locked' | 'taken_over' | 'busy'>;
  unlock(account: OAuthAccount, holder: string): Promise<void>;
  /** The problems of those accounts that have one, by id. */
  problems(accounts: readonly OAuthAccount[]): Promise<ReadonlyMap<string, string>>;
}

/** What is stored of an account can't be decrypted. The first refresh token is no way out: it may have been replaced. */
export class UnreadableGrantError extends Error {
  override readonly name = 'UnreadableGrantError';

  constructor(reason: 'unknown_key' | 'damaged') {
    super(`The tokens of an account can't be decrypted: ${reason}.`);
  }
}

/** Identifies a credential without revealing anything of it. */
export function originOf({ refreshToken, tokenUrl, clientId }: OAuthCredential): string {
  const parts = JSON.stringify(['gateway grant', tokenUrl, clientId, refreshToken.reveal()]);
  return createHash('sha256').update(parts).digest('hex').slice(0, 32);
}

/** The grant as the configuration gives it, before any refresh. */
export function newGrant({ refreshToken }: OAuthCredential): Grant {
  return { version: 0, refreshToken, access: undefined, problem: undefined };
}

export function isSameGrant(one: Grant, other: Grant): boolean {
  return (
    one.version === other.version &&
    one.problem === other.problem &&
    one.refreshToken.reveal() === other.refreshToken.reveal() &&
    one.access?.token.reveal() === other.access?.token.reveal()
  );
}

/** Grants of one process, gone with it: for brokers without a database, or without a key to encrypt with. */
export class MemoryGrantStore implements GrantStore {
  /** There is no other broker on these grants, and all requests of one share its refresh. */
  lock: GrantStore['lock'] = async () => 'locked';
  unlock: GrantStore['unlock'] = async () => undefined;
  readonly #grants = new Map<string, Grant>();

  async read(account: OAuthAccount): Promise<Grant> {
    return this.#grant(account);
  }

  async save(account: OAuthAccount, grant: Grant): Promise<boolean> {
    const stored = this.#grant(account);
    if (stored.version !== grant.version - 1) return isSameGrant(stored, grant);
    this.#grants.set(keyOf(account), grant);
    return true;
  }

  async problems(accounts: readonly OAuthAccount[]): Promise<ReadonlyMap<string, string>> {
    const found = accounts.map((account) => [account.id, this.#grant(account).problem] as const);
    return new Map(found.flatMap(([id, problem]) => (problem === undefined ? [] : [[id, problem]])));
  }

  #grant(account: OAuthAccount): Grant {
    return this.#grants.get(keyOf(account)) ?? newGrant(account.credential);
  }
}

function keyOf({ id, credential }: OAuthAccount): string {
  return `${id} ${originOf(credential)}`;
}
