import type { Credential } from '@gateway/config';
import { GatewayError } from '@gateway/errors';
import type { Clock } from '@gateway/time';
import type { RefreshSettings } from './credential-config.ts';
import { type Grant, type OAuthAccount, originOf } from './grant-store.ts';
import { GrantGoneError, type TokenRefresher } from './token-refresher.ts';

/** What a provider is sent. */
export interface UsableSecret {
  readonly kind: 'bearer' | 'api_key';
  readonly text: string;
  /** Identifies it among those before and after it, without revealing anything of it. Empty: there is only this one. */
  readonly version: string;
  /** Epoch milliseconds until which it may be used without asking again. */
  readonly cacheableUntilMs: number;
}

export interface CredentialOwner {
  readonly id: string;
  readonly pool: string;
  readonly credential: Credential;
}

export interface AccountCredentialsParts {
  readonly refresher: TokenRefresher;
  readonly settings: RefreshSettings;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** The provider refuses an account's refresh token, or it is to be tried again. */
  readonly onProblem: (accountId: string) => void;
  /** An account has another access token than this replica knew before, issued at that time. */
  readonly onRenewed: (accountId: string, issuedAtMs: number) => void;
}

interface KnownGrant {
  readonly grant: Grant;
  /** The credential that it descends from. */
  readonly origin: string;
  /** When its access token is to be replaced, though it lives on for a while. Replicas differ, so that they do not come together. */
  readonly refreshAtMs: number;
  /** When its access token is of no use any more. */
  readonly endsAtMs: number;
}

/** The secrets of accounts, as providers take them now. */
export class AccountCredentials {
  readonly #parts: AccountCredentialsParts;
  readonly #known = new Map<string, KnownGrant>();
  /** Versions that providers refused and that could not be replaced yet, by account. */
  readonly #refused = new Map<string, string>();

  constructor(parts: AccountCredentialsParts) {
    this.#parts = parts;
  }

  /**
   * @param refused the version of a secret that the provider does not take any more: this gives another one if there can be one.
   * @throws GatewayError when there is no usable secret now.
   */
  async secretOf({ id, pool, credential }: CredentialOwner, refused = ''): Promise<UsableSecret> {
    if (credential.kind === 'oauth') return this.#accessTokenOf({ id, pool, credential }, refused);
    const { kind, secret } = credential;
    return { kind, text: secret.reveal(), version: '', cacheableUntilMs: this.#nowMs() + longestCacheMs };
  }

  /** Has its access token replaced when that ends soon, or was refused and could not be replaced then. Never rejects. */
  async keepFresh(owner: CredentialOwner): Promise<void> {
    await this.secretOf(owner, this.#refused.get(owner.id)).catch(() => undefined);
  }

  /** True when an account has an access token that was issued after that time, so that a request sent then had another one. */
  async isNewerThan({ id, pool, credential }: CredentialOwner, sentAtMs: number): Promise<boolean> {
    if (credential.kind !== 'oauth') return false;
    const { access } = await this.#parts.refresher.read({ id, pool, credential });
    return access !== undefined && access.issuedAtMs > sentAtMs;
  }

  /** Tries a refresh token once more that was refused. Rejects when what is stored of it can't be changed. */
  async forgetProblem({ id, pool, credential }: CredentialOwner): Promise<void> {
    if (credential.kind === 'oauth' && (await this.#parts.refresher.forgetProblem({ id, pool, credential })))
      this.#parts.onProblem(id);
  }

  /** Forgets the tokens of accounts that are not among these, once they have ended: requests may still run with them. */
  retain(accountIds: ReadonlySet<string>): void {
    for (const [id, { endsAtMs }] of this.#known) {
      if (!accountIds.has(id) && endsAtMs <= this.#nowMs()) this.#known.delete(id);
    }
    for (const id of this.#refused.keys()) if (!accountIds.has(id)) this.#refused.delete(id);
  }

  async #accessTokenOf(account: OAuthAccount, refused: string): Promise<UsableSecret> {
    const known = this.#remembered(account, refused) ?? this.#remember(account, await this.#read(account));
    if (known.grant.problem !== undefined) throw unusable(known.grant.problem);
    const isRefused = refused === versionOf(known) && this.#mayBeReplaced(known.grant);
    if (!isRefused && this.#nowMs() < known.endsAtMs) {
      if (this.#nowMs() >= known.refreshAtMs) this.#refreshBehind(account, known.grant.version);
      return this.#usable(known);
    }
    if (isRefused) this.#refused.set(account.id, refused);
    const refreshed = this.#remember(account, await this.#newerThan(account, known.grant));
    this.#refused.delete(account.id);
    if (refreshed.grant.problem !== undefined) throw unusable(refreshed.grant.problem);
    return this.#usable(refreshed);
  }

  #remembered({ id, credential }: OAuthAccount, refused: string): KnownGrant | undefined {
    const known = this.#known.get(id);
    // With another credential in the configuration everything begins anew; a problem may have been solved elsewhere.
    if (known?.origin !== originOf(credential) || known.grant.problem !== undefined) return undefined;
    // A caller that was refused with a newer one than is known here got it from another replica.
    return isNewerVersion(refused, known) ? undefined : known;
  }

  async #read(account: OAuthAccount): Promise<Grant> {
    try {
      return await this.#parts.refresher.read(account);
    } catch (thrown) {
      throw unusable('What is stored of its tokens can not be read.', thrown);
    }
  }

  async #newerThan(account: OAuthAccount, { version, refreshToken }: Grant): Promise<Grant> {
    try {
      return await this.#parts.refresher.newerThan(account, version);
    } catch (thrown) {
      const isUnchanged = refreshToken.reveal() === account.credential.refreshToken.reveal();
      // A refresh token that was never replaced can be sent again: the next call begins anew.
      if (thrown instanceof GrantGoneError && isUnchanged) this.#known.delete(account.id);
      throw unusable('Its access token could not be refreshed.', thrown);
    }
  }

  /** The known one is used meanwhile; a failure has been reported, and the next call tries again. */
  #refreshBehind(account: OAuthAccount, version: number): void {
    this.#parts.refresher.newerThan(account, version).then(
      (grant) => void this.#remember(account, grant),
      () => undefined,
    );
  }

  #remember({ id, credential }: OAuthAccount, grant: Grant): KnownGrant {
    if (grant.problem !== undefined) this.#parts.onProblem(id);
    const before = this.#known.get(id)?.grant.version ?? grant.version;
    if (before !== grant.version && grant.access !== undefined) this.#parts.onRenewed(id, grant.access.issuedAtMs);
    const known = { grant, origin: originOf(credential), ...this.#timesOf(grant) };
    this.#known.set(id, known);
    return known;
  }

  #timesOf({ access }: Grant): Pick<KnownGrant, 'refreshAtMs' | 'endsAtMs'> {
    if (access === undefined) return { refreshAtMs: 0, endsAtMs: 0 };
    const { settings, random } = this.#parts;
    const lifetimeMs = access.expiresAtMs - access.issuedAtMs;
    const aheadMs = Math.min(settings.refreshAheadMs, lifetimeMs / 4) * (1 - jitter * random());
    return {
      refreshAtMs: access.expiresAtMs - aheadMs,
      // A request that is on its way when the token ends would be refused.
      endsAtMs: access.expiresAtMs - Math.min(longestLeewayMs, lifetimeMs / 10),
    };
  }

  #usable(known: KnownGrant): UsableSecret {
    const { grant, refreshAtMs, endsAtMs } = known;
    const nowMs = this.#nowMs();
    const untilMs = nowMs < refreshAtMs ? refreshAtMs : nowMs + refreshingCacheMs;
    return {
      kind: 'bearer',
      text: grant.access?.token.reveal() ?? '',
      version: versionOf(known),
      cacheableUntilMs: Math.min(untilMs, endsAtMs, nowMs + longestCacheMs),
    };
  }

  /** A token that was issued just now and is refused all the same: another one would be refused too. */
  #mayBeReplaced({ access }: Grant): boolean {
    return access === undefined || this.#nowMs() - access.issuedAtMs >= leastAgeMs;
  }

  #nowMs(): number {
    return this.#parts.clock.nowMs();
  }
}

// How long a credential that was taken away may still be used.
const longestCacheMs = 60_000;

// While a token is being replaced, the new one is soon asked for.
const refreshingCacheMs = 1_000;

const jitter = 0.3;
const longestLeewayMs = 5_000;
const leastAgeMs = 30_000;

function versionOf({ grant, origin }: KnownGrant): string {
  return `${origin.slice(0, 8)}.${grant.version}`;
}

/** True for a version that has the same origin and came later. */
function isNewerVersion(version: string, { grant, origin }: KnownGrant): boolean {
  const [originPart, number] = version.split('.');
  return originPart === origin.slice(0, 8) && Number(number) > grant.version;
}

/** For the adapter, which moves on to another account. */
function unusable(reason: string, cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', `The account has no usable credential. ${reason}`, { cause });
}
