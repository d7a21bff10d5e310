import { GatewayError } from '@gateway/errors';
import { type AccessToken, type Grant, type OAuthAccount, originOf } from './grants.ts';
import { type RefreshContext, TokenRefresher } from './token-refresher.ts';

/** What a provider is sent. */
export interface UsableSecret {
  readonly kind: 'bearer' | 'api_key';
  readonly text: string;
  /** Identifies it among those before and after it, without revealing anything of it. Empty: there is only this one. */
  readonly version: string;
  /** Epoch milliseconds until which it may be used without asking again. */
  readonly cacheableUntilMs: number;
}

/** How long a credential that was taken away may still be used. */
export const longestCacheMs = 60_000;

/** The access tokens of an account, each replaced ahead of its end, or when the provider refuses it. */
export class AccessTokens {
  readonly refresher: TokenRefresher;
  readonly #account: OAuthAccount;
  readonly #origin: string;
  readonly #context: RefreshContext;
  /** Replicas differ, so that they do not refresh at the same time. */
  readonly #aheadShare: number;
  #known: Grant | undefined;
  /** The version that the provider refused and that could not be replaced yet. */
  #refused = '';

  constructor(account: OAuthAccount, context: RefreshContext) {
    this.refresher = new TokenRefresher(account, context);
    this.#account = account;
    this.#origin = originOf(account.credential).slice(0, 8);
    this.#context = context;
    this.#aheadShare = 1 - jitter * context.random();
  }

  /** @throws GatewayError when there is no usable token now. `refused` is the version that the provider does not take any more. */
  async secret(refused = this.#refused): Promise<UsableSecret> {
    const [origin, number] = refused.split('.');
    const refusedVersion = origin === this.#origin ? Number(number) : Number.NaN;
    const grant = await this.#upToDate(refusedVersion);
    if (grant.problem !== undefined) throw unusable(grant.problem);
    const nowMs = this.#context.clock.nowMs();
    // A token that was issued just now and is refused all the same: another one would be refused too.
    const isYoung = grant.access !== undefined && nowMs - grant.access.issuedAtMs < leastAgeMs;
    const isRefused = refusedVersion === grant.version && !isYoung;
    if (grant.access !== undefined && !isRefused && nowMs < endOf(grant.access)) {
      // It is used meanwhile; a failure is reported, and the next call tries again.
      if (nowMs >= this.#refreshTimeOf(grant.access)) this.#refresh(grant).catch(() => undefined);
      return this.#usable(grant);
    }
    if (isRefused) this.#refused = refused;
    const refreshed = await this.#refresh(grant).catch((thrown: unknown) => {
      throw unusable(notRefreshed, thrown);
    });
    this.#refused = '';
    return this.#usable(refreshed);
  }

  async #upToDate(refusedVersion: number): Promise<Grant> {
    const known = this.#known;
    // A problem may have been solved elsewhere. A caller that was refused with a newer token got it from another replica.
    if (known !== undefined && known.problem === undefined && !(refusedVersion > known.version)) return known;
    const stored = await this.refresher.read().catch((thrown: unknown) => {
      throw unusable('What is stored of its tokens can not be read.', thrown);
    });
    return this.#remember(stored);
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
    if (access === undefined) throw unusable(problem);
    const nowMs = this.#context.clock.nowMs();
    const refreshAtMs = this.#refreshTimeOf(access);
    // While a token is being replaced, the new one is soon asked for.
    const untilMs = nowMs < refreshAtMs ? refreshAtMs : nowMs + 1_000;
    return {
      kind: 'bearer',
      text: access.token.reveal(),
      version: `${this.#origin}.${version}`,
      cacheableUntilMs: Math.min(untilMs, endOf(access), nowMs + longestCacheMs),
    };
  }

  /** When a token is to be replaced, though it lives on for a while. */
  #refreshTimeOf({ issuedAtMs, expiresAtMs }: AccessToken): number {
    return expiresAtMs - Math.min(this.#context.refreshAheadMs, (expiresAtMs - issuedAtMs) / 4) * this.#aheadShare;
  }
}

const jitter = 0.3;
const leastAgeMs = 30_000;

const notRefreshed = 'Its access token could not be refreshed.';

/** When a token is of no use any more: a request that is on its way when it ends would be refused. */
function endOf({ issuedAtMs, expiresAtMs }: AccessToken): number {
  return expiresAtMs - Math.min(5_000, (expiresAtMs - issuedAtMs) / 10);
}

/** For the adapter, which moves on to another account. */
function unusable(reason: string, cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', `The account has no usable credential. ${reason}`, { cause });
}
