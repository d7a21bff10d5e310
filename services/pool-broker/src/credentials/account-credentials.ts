import { GatewayError } from '@gateway/errors';
import type { Account } from '../accounts/account.ts';
import { type AccessToken, type Grant, grantIdOf, type OAuthAccount, originOf } from './grants.ts';
import { type RefreshContext, TokenRefresher } from './token-refresher.ts';

export interface UsableSecret {
  readonly kind: 'bearer' | 'api_key';
  readonly text: string;
  /**
   * Identifies the secret among earlier and later ones, without revealing any part of it. Empty:
   * there is only one.
   */
  readonly version: string;
  readonly cacheableUntilMs: number;
}

export type CredentialOwner = Pick<Account, 'id' | 'pool' | 'credential'>;

export class AccountCredentials {
  readonly #context: RefreshContext;
  /** Tokens by `grantIdOf`: another credential in the configuration has tokens of its own. */
  readonly #tokens = new Map<string, AccessTokens>();

  constructor(context: RefreshContext) {
    this.#context = context;
  }

  /**
   * A secret other than the refused version, if one is available.
   * @throws GatewayError when there is no usable secret now.
   */
  async secretOf({ id, pool, credential }: CredentialOwner, refused = ''): Promise<UsableSecret> {
    if (credential.kind === 'oauth') return await this.#tokensOf({ id, pool, credential }).secret(refused);
    const cacheableUntilMs = this.#context.store.nowMs() + longestCacheMs;
    return { kind: credential.kind, text: credential.secret.reveal(), version: '', cacheableUntilMs };
  }

  /**
   * True when the account's access token was issued after that time, so a request sent at that time
   * used another one.
   */
  async isNewerThan({ id, pool, credential }: CredentialOwner, sentAtMs: number): Promise<boolean> {
    if (credential.kind !== 'oauth') return false;
    const { access } = await this.#tokensOf({ id, pool, credential }).refresher.read();
    return access !== undefined && access.issuedAtMs > sentAtMs;
  }

  /**
   * Allows a refused refresh token to be tried once more. Rejects when its stored state can't be
   * changed.
   */
  async forgetProblem({ id, pool, credential }: CredentialOwner): Promise<void> {
    if (credential.kind !== 'oauth') return;
    if (await this.#tokensOf({ id, pool, credential }).refresher.forgetProblem()) this.#context.changes.emit('problem');
  }

  /**
   * Replaces the access tokens of these accounts that expire soon, or that were refused and could
   * not be replaced then. Never rejects.
   */
  async keepFresh(accounts: readonly (OAuthAccount & Pick<Account, 'state'>)[]): Promise<void> {
    // Idle accounts are refreshed too: unused refresh tokens expire, and a paused account gets no
    // requests.
    const refreshed = accounts.filter(({ state }) => state !== 'disabled');
    await Promise.allSettled(refreshed.map((account) => this.#tokensOf(account).secret()));
    // Tokens are stored, so they can be dropped here: a removed account reads them again while
    // requests still use it.
    const configured = new Set(accounts.map(grantIdOf));
    for (const [id, { refresher }] of this.#tokens) {
      if (!configured.has(id) && refresher.running === undefined) this.#tokens.delete(id);
    }
  }

  /** Resolves when no refresh is running: an answer that is not stored would be lost. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#tokens.values()].map(({ refresher }) => refresher.running));
  }

  #tokensOf(account: OAuthAccount): AccessTokens {
    return this.#tokens.getOrInsertComputed(grantIdOf(account), () => new AccessTokens(account, this.#context));
  }
}

/** How long a revoked credential may still be used. */
const longestCacheMs = 60_000;

/**
 * The access tokens of an account. Each is replaced before it expires, or when the provider refuses
 * it.
 */
class AccessTokens {
  readonly refresher: TokenRefresher;
  readonly #account: OAuthAccount;
  readonly #origin: string;
  readonly #context: RefreshContext;
  /** Differs between replicas, so that they do not refresh at the same time. */
  readonly #aheadShare: number;
  #known: Grant | undefined;
  /** The version that the provider refused and that could not be replaced yet. */
  #refused = '';

  constructor(account: OAuthAccount, context: RefreshContext) {
    this.refresher = new TokenRefresher(account, context);
    this.#account = account;
    this.#origin = originOf(account.credential).slice(0, 8);
    this.#context = context;
    this.#aheadShare = 1 - 0.3 * context.random();
  }

  async secret(refused = this.#refused): Promise<UsableSecret> {
    const [origin, number] = refused.split('.');
    const refusedVersion = origin === this.#origin ? Number(number) : Number.NaN;
    const grant = await this.#upToDate(refusedVersion);
    if (grant.problem !== undefined) unusableBecause(grant.problem)();
    const nowMs = this.#context.store.nowMs();
    // If a newly issued token is refused, another one would be refused too.
    const isYoung = grant.access !== undefined && nowMs - grant.access.issuedAtMs < 30_000;
    const isRefused = refusedVersion === grant.version && !isYoung;
    if (grant.access !== undefined && !isRefused && nowMs < endOf(grant.access)) {
      // The token is used during the refresh. A failure is reported, and the next call tries again.
      if (nowMs >= this.#refreshTimeOf(grant.access)) this.#refresh(grant).catch(() => undefined);
      return this.#usable(grant);
    }
    if (isRefused) this.#refused = refused;
    const refreshed = await this.#refresh(grant).catch(unusableBecause(notRefreshed));
    this.#refused = '';
    return this.#usable(refreshed);
  }

  async #upToDate(refusedVersion: number): Promise<Grant> {
    const known = this.#known;
    // Another replica may have solved the problem. A caller that was refused with a newer token got
    // it from another replica.
    if (known !== undefined && known.problem === undefined && !(refusedVersion > known.version)) return known;
    return this.#remember(await this.refresher.read().catch(unusableBecause(notReadable)));
  }

  async #refresh(grant: Grant): Promise<Grant> {
    return this.#remember(await this.refresher.newerThan(grant));
  }

  #remember(grant: Grant): Grant {
    const { version, access, problem } = grant;
    const isAnother = this.#known !== undefined && this.#known.version !== version;
    this.#known = grant;
    if (problem !== undefined) this.#context.changes.emit('problem');
    if (isAnother && access !== undefined) this.#context.changes.emit('renewed', this.#account.id, access.issuedAtMs);
    return grant;
  }

  #usable({ version, access, problem = notRefreshed }: Grant): UsableSecret {
    if (access === undefined) return unusableBecause(problem)();
    const nowMs = this.#context.store.nowMs();
    const refreshAtMs = this.#refreshTimeOf(access);
    // While a token is being replaced, ask again soon for the new one.
    const untilMs = nowMs < refreshAtMs ? refreshAtMs : nowMs + 1_000;
    return {
      kind: 'bearer',
      text: access.token.reveal(),
      version: `${this.#origin}.${version}`,
      cacheableUntilMs: Math.min(untilMs, endOf(access), nowMs + longestCacheMs),
    };
  }

  #refreshTimeOf({ issuedAtMs, expiresAtMs }: AccessToken): number {
    return expiresAtMs - Math.min(this.#context.refreshAheadMs, (expiresAtMs - issuedAtMs) / 4) * this.#aheadShare;
  }
}

const notRefreshed = 'Its access token could not be refreshed.';
const notReadable = 'Its stored tokens cannot be read.';

/** Ends early, because a request in flight when its token expires would be refused. */
function endOf({ issuedAtMs, expiresAtMs }: AccessToken): number {
  return expiresAtMs - Math.min(5_000, (expiresAtMs - issuedAtMs) / 10);
}

/** Tells the adapter to use another account. */
function unusableBecause(reason: string) {
  return (cause?: unknown): never => {
    throw new GatewayError('providers_unavailable', `The account has no usable credential. ${reason}`, { cause });
  };
}
