import type { JsonObject } from '@gateway/json';
import { epochMs, randomBytes } from '@gateway/time';

export interface TokenEndpointOptions {
  /** The lifetime of an access token. Default 3600. */
  readonly accessTokenSeconds?: number;
}

/** The tokens that descend from one grant of an account's owner. */
export interface TokenFamily {
  readonly account: string;
  /**
   * True once a refresh token was used twice, or the owner revoked the grant: none of its tokens is
   * valid any more.
   */
  readonly revoked: boolean;
  /** The number of requests answered with a new access token. */
  readonly refreshes: number;
  /** The number of requests with a refresh token that had been replaced. */
  readonly reuses: number;
  /** The highest number of concurrent token requests. */
  readonly mostAtOnce: number;
}

type Family = { -readonly [count in keyof TokenFamily]: TokenFamily[count] } & { refreshToken: string; atOnce: number };

const accessTokenPrefix = 'sim_at_';

/**
 * The tokens and their holders. A refresh token that is used twice revokes everything obtained from
 * its grant, as at providers.
 */
export class TokenFamilies {
  readonly #options: TokenEndpointOptions;
  readonly #byRefreshToken = new Map<string, Family>();
  readonly #byAccessToken = new Map<string, { readonly family: Family; readonly expiresAtMs: number }>();

  constructor(options: TokenEndpointOptions) {
    this.#options = options;
  }

  /** Creates a grant for an account and returns its first refresh token. */
  grant(account: string, refreshToken = `sim_rt_${randomText()}`): string {
    const none = { refreshes: 0, reuses: 0, atOnce: 0, mostAtOnce: 0 };
    this.#byRefreshToken.set(refreshToken, { account, refreshToken, revoked: false, ...none });
    return refreshToken;
  }

  /** Revokes every grant of the account on behalf of its owner. */
  revoke(account: string): void {
    for (const family of this.#byRefreshToken.values()) if (family.account === account) family.revoked = true;
  }

  /** The families, oldest first. */
  families(): readonly TokenFamily[] {
    return [...new Set(this.#byRefreshToken.values())].map(({ refreshToken: _, atOnce: __, ...family }) => family);
  }

  /** Counts a token request as in flight until disposal. */
  begin(refreshToken: string): Disposable & { readonly account: string | null } {
    const family = this.#byRefreshToken.get(refreshToken);
    if (family === undefined) return { account: null, [Symbol.dispose]: () => {} };
    family.atOnce++;
    family.mostAtOnce = Math.max(family.mostAtOnce, family.atOnce);
    return { account: family.account, [Symbol.dispose]: () => void family.atOnce-- };
  }

  /** Exchanges a refresh token for new tokens; undefined when it is not valid. */
  refresh(refreshToken: string): JsonObject | undefined {
    const family = this.#byRefreshToken.get(refreshToken);
    if (family === undefined || family.revoked) return undefined;
    if (family.refreshToken !== refreshToken) {
      family.reuses++;
      family.revoked = true;
      return undefined;
    }
    family.refreshes++;
    family.refreshToken = `sim_rt_${randomText()}`;
    this.#byRefreshToken.set(family.refreshToken, family);
    const expiresInSeconds = this.#options.accessTokenSeconds ?? 3_600;
    const accessToken = `${accessTokenPrefix}${randomText()}`;
    this.#byAccessToken.set(accessToken, { family, expiresAtMs: epochMs() + expiresInSeconds * 1_000 });
    const tokens = { access_token: accessToken, refresh_token: family.refreshToken };
    return { ...tokens, token_type: 'Bearer', expires_in: expiresInSeconds };
  }

  /**
   * The account that a credential belongs to: an access token belongs to its family's account, and
   * any other credential is the account's name. Undefined for an access token that has expired or
   * was revoked.
   */
  accountOf(credential: string): string | undefined {
    if (!credential.startsWith(accessTokenPrefix)) return credential;
    const known = this.#byAccessToken.get(credential);
    const isGood = known !== undefined && !known.family.revoked && epochMs() < known.expiresAtMs;
    return isGood ? known.family.account : undefined;
  }

  /** Makes every access token of an account expire immediately. */
  expire(account: string): void {
    for (const [token, { family }] of this.#byAccessToken) {
      if (family.account === account) this.#byAccessToken.delete(token);
    }
  }
}

function randomText(): string {
  return randomBytes(24).toString('base64url');
}
