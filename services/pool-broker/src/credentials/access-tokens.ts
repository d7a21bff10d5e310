import type { EventEmitter } from 'node:events';
import { GatewayError } from '@gateway/errors';
import { type Grant, type OAuthAccount, originOf } from './grants.ts';
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

export interface CredentialContext extends RefreshContext {
  readonly refreshAheadMs: number;
}

export interface CredentialChanges {
  /** The provider refuses an account's refresh token, or it is to be tried again. */
  readonly problem: [];
  /** An account has another access token than this replica knew before, issued at that time. */
  readonly renewed: [accountId: string, issuedAtMs: number];
}

interface KnownGrant {
  readonly grant: Grant;
  /** When its access token is to be replaced, though it lives on for a while. Replicas differ, so that they do not come together. */
  readonly refreshAtMs: number;
  /** When its access token is of no use any more. */
  readonly endsAtMs: number;
}

/** The access tokens of an account, each replaced ahead of its end, or when the provider refuses it. */
export class AccessTokens {
  readonly refresher: TokenRefresher;
  readonly #account: OAuthAccount;
  readonly #origin: string;
  readonly #context: CredentialContext;
  readonly #changes: EventEmitter<CredentialChanges>;
  #known: KnownGrant | undefined;
  /** The version that the provider refused and that could not be replaced yet. */
  #refused = '';

  constructor(account: OAuthAccount, context: CredentialContext, changes: EventEmitter<CredentialChanges>) {
    this.refresher = new TokenRefresher(account, context);
    this.#account = account;
    this.#origin = originOf(account.credential).slice(0, 8);
    this.#context = context;
    this.#changes = changes;
  }

  /** @throws GatewayError when there is no usable token now. `refused` is the version that the provider does not take any more. */
  async secret(refused = this.#refused): Promise<UsableSecret> {
    const { clock } = this.#context;
    const [origin, number] = refused.split('.');
    const refusedVersion = origin === this.#origin ? Number(number) : Number.NaN;
    const known = await this.#upToDate(refusedVersion);
    const { grant, refreshAtMs, endsAtMs } = known;
    if (grant.problem !== undefined) throw unusable(grant.problem);
    // A token that was issued just now and is refused all the same: another one would be refused too.
    const isYoung = grant.access !== undefined && clock.nowMs() - grant.access.issuedAtMs < leastAgeMs;
    const isRefused = refusedVersion === grant.version && !isYoung;
    if (!isRefused && clock.nowMs() < endsAtMs) {
      // It is used meanwhile; a failure is reported, and the next call tries again.
      if (clock.nowMs() >= refreshAtMs) this.#refresh(grant).catch(() => undefined);
      return this.#usable(known);
    }
    if (isRefused) this.#refused = refused;
    const refreshed = await this.#refresh(grant).catch((thrown: unknown) => {
      throw unusable(notRefreshed, thrown);
    });
    this.#refused = '';
    return this.#usable(refreshed);
  }

  /** True once the token that is known has ended, and no other one is on its way. */
  get hasEnded(): boolean {
    return this.refresher.running === undefined && (this.#known?.endsAtMs ?? 0) <= this.#context.clock.nowMs();
  }

  async #upToDate(refusedVersion: number): Promise<KnownGrant> {
    const known = this.#known;
    // A problem may have been solved elsewhere. A caller that was refused with a newer token got it from another replica.
    const isUpToDate = known?.grant.problem === undefined && !(refusedVersion > (known?.grant.version ?? 0));
    if (known !== undefined && isUpToDate) return known;
    const stored = await this.refresher.read().catch((thrown: unknown) => {
      throw unusable('What is stored of its tokens can not be read.', thrown);
    });
    return this.#remember(stored);
  }

  async #refresh(grant: Grant): Promise<KnownGrant> {
    return this.#remember(await this.refresher.newerThan(grant));
  }

  #remember(grant: Grant): KnownGrant {
    const { version, access, problem } = grant;
    if (problem !== undefined) this.#changes.emit('problem');
    const isAnother = this.#known !== undefined && this.#known.grant.version !== version;
    if (isAnother && access !== undefined) this.#changes.emit('renewed', this.#account.id, access.issuedAtMs);
    this.#known = { grant, ...this.#timesOf(grant) };
    return this.#known;
  }

  #timesOf({ access }: Grant): Omit<KnownGrant, 'grant'> {
    if (access === undefined) return { refreshAtMs: 0, endsAtMs: 0 };
    const { refreshAheadMs, random } = this.#context;
    const lifetimeMs = access.expiresAtMs - access.issuedAtMs;
    const aheadMs = Math.min(refreshAheadMs, lifetimeMs / 4) * (1 - jitter * random());
    return {
      refreshAtMs: access.expiresAtMs - aheadMs,
      // A request that is on its way when the token ends would be refused.
      endsAtMs: access.expiresAtMs - Math.min(longestLeewayMs, lifetimeMs / 10),
    };
  }

  #usable({ grant: { version, access, problem }, refreshAtMs, endsAtMs }: KnownGrant): UsableSecret {
    if (access === undefined) throw unusable(problem ?? notRefreshed);
    const nowMs = this.#context.clock.nowMs();
    const untilMs = nowMs < refreshAtMs ? refreshAtMs : nowMs + refreshingCacheMs;
    return {
      kind: 'bearer',
      text: access.token.reveal(),
      version: `${this.#origin}.${version}`,
      cacheableUntilMs: Math.min(untilMs, endsAtMs, nowMs + longestCacheMs),
    };
  }
}

// While a token is being replaced, the new one is soon asked for.
const refreshingCacheMs = 1_000;

const jitter = 0.3;
const longestLeewayMs = 5_000;
const leastAgeMs = 30_000;

const notRefreshed = 'Its access token could not be refreshed.';

/** For the adapter, which moves on to another account. */
function unusable(reason: string, cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', `The account has no usable credential. ${reason}`, { cause });
}
