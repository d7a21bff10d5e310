import type { Account } from '../accounts/account.ts';
import { AccessTokens, longestCacheMs, type UsableSecret } from './access-tokens.ts';
import { grantIdOf, type OAuthAccount } from './grants.ts';
import type { RefreshContext } from './token-refresher.ts';

export type CredentialOwner = Pick<Account, 'id' | 'pool' | 'credential'>;

/** The secrets of accounts, as providers take them now. */
export class AccountCredentials {
  readonly #context: RefreshContext;
  /** By `grantIdOf`: with another credential in the configuration everything begins anew. */
  readonly #tokens = new Map<string, AccessTokens>();

  constructor(context: RefreshContext) {
    this.#context = context;
  }

  /**
   * @param refused the version of a secret that the provider does not take any more: this gives another one if there can be one.
   * @throws GatewayError when there is no usable secret now.
   */
  async secretOf({ id, pool, credential }: CredentialOwner, refused = ''): Promise<UsableSecret> {
    if (credential.kind === 'oauth') return await this.#tokensOf({ id, pool, credential }).secret(refused);
    const cacheableUntilMs = this.#context.clock.nowMs() + longestCacheMs;
    return { kind: credential.kind, text: credential.secret.reveal(), version: '', cacheableUntilMs };
  }

  /** True when an account has an access token that was issued after that time, so that a request sent then had another one. */
  async isNewerThan({ id, pool, credential }: CredentialOwner, sentAtMs: number): Promise<boolean> {
    if (credential.kind !== 'oauth') return false;
    const { access } = await this.#tokensOf({ id, pool, credential }).refresher.read();
    return access !== undefined && access.issuedAtMs > sentAtMs;
  }

  /** Tries a refresh token once more that was refused. Rejects when what is stored of it can't be changed. */
  async forgetProblem({ id, pool, credential }: CredentialOwner): Promise<void> {
    if (credential.kind !== 'oauth') return;
    if (await this.#tokensOf({ id, pool, credential }).refresher.forgetProblem()) this.#context.changes.emit('problem');
  }

  /** Replaces the access tokens of these accounts that end soon, or were refused and could not be replaced then. Never rejects. */
  async keepFresh(accounts: readonly (OAuthAccount & Pick<Account, 'state'>)[]): Promise<void> {
    // An account without requests keeps its tokens too: unused refresh tokens end, and one that pauses gets no request.
    const refreshed = accounts.filter(({ state }) => state !== 'disabled');
    await Promise.allSettled(refreshed.map((account) => this.#tokensOf(account).secret()));
    // The tokens themselves are stored: an account that was removed reads them again while requests still run with it.
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
    const id = grantIdOf(account);
    const tokens = this.#tokens.get(id) ?? new AccessTokens(account, this.#context);
    this.#tokens.set(id, tokens);
    return tokens;
  }
}
