import { randomBytes } from 'node:crypto';
import type { JsonObject } from '@gateway/json';
import type { Exchange } from '../exchange.ts';
import type { Provider } from '../serve-request.ts';
import { withFaults } from '../with-faults.ts';

export interface TokenEndpointOptions {
  /** How long an access token lives. Default 3600. */
  readonly accessTokenSeconds?: number | undefined;
}

/** The tokens that descend from one grant of an account's owner. */
export interface TokenFamily {
  readonly account: string;
  /** True once a refresh token was used twice, or the owner took the grant back: none of its tokens is good any more. */
  readonly revoked: boolean;
  /** Answered with a new access token. */
  readonly refreshes: number;
  /** How often a refresh token came that had been replaced. */
  readonly reuses: number;
  /** Requests for a token that were under way at the same time, at most. */
  readonly mostAtOnce: number;
}

type Family = { -readonly [count in keyof TokenFamily]: TokenFamily[count] } & { refreshToken: string; atOnce: number };

const accessTokenPrefix = 'sim_at_';

/** Who holds which tokens. A refresh token that comes twice revokes everything that its grant gave, as providers do. */
export class TokenFamilies {
  readonly #options: TokenEndpointOptions;
  readonly #nowMs: () => number;
  readonly #byRefreshToken = new Map<string, Family>();
  readonly #byAccessToken = new Map<string, { readonly family: Family; readonly expiresAtMs: number }>();

  constructor(options: TokenEndpointOptions, nowMs: () => number) {
    this.#options = options;
    this.#nowMs = nowMs;
  }

  /** A new grant for an account, and its first refresh token. */
  grant(account: string, refreshToken = `sim_rt_${randomText()}`): string {
    const none = { refreshes: 0, reuses: 0, atOnce: 0, mostAtOnce: 0 };
    this.#byRefreshToken.set(refreshToken, { account, refreshToken, revoked: false, ...none });
    return refreshToken;
  }

  /** The account's owner takes every grant back. */
  revoke(account: string): void {
    for (const family of this.#byRefreshToken.values()) if (family.account === account) family.revoked = true;
  }

  /** The families, oldest first. */
  families(): readonly TokenFamily[] {
    return [...new Set(this.#byRefreshToken.values())].map(({ refreshToken: _, atOnce: __, ...family }) => family);
  }

  /** Counts a request for a token as under way until it is disposed of. */
  begin(refreshToken: string): Disposable & { readonly account: string | null } {
    const family = this.#byRefreshToken.get(refreshToken);
    if (family === undefined) return { account: null, [Symbol.dispose]: () => {} };
    family.atOnce++;
    family.mostAtOnce = Math.max(family.mostAtOnce, family.atOnce);
    return { account: family.account, [Symbol.dispose]: () => void family.atOnce-- };
  }

  /** New tokens for a refresh token; undefined when it is not good (any more). */
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
    this.#byAccessToken.set(accessToken, { family, expiresAtMs: this.#nowMs() + expiresInSeconds * 1_000 });
    const tokens = { access_token: accessToken, refresh_token: family.refreshToken };
    return { ...tokens, token_type: 'Bearer', expires_in: expiresInSeconds };
  }

  /**
   * Whose credential it is: an access token its family's account's, any other the account's of that name. Undefined when it is an
   * access token that has expired or was revoked.
   */
  accountOf(credential: string): string | undefined {
    if (!credential.startsWith(accessTokenPrefix)) return credential;
    const known = this.#byAccessToken.get(credential);
    const isGood = known !== undefined && !known.family.revoked && this.#nowMs() < known.expiresAtMs;
    return isGood ? known.family.account : undefined;
  }

  /** Makes every access token of an account expire now. */
  expire(account: string): void {
    for (const [token, { family }] of this.#byAccessToken) {
      if (family.account === account) this.#byAccessToken.delete(token);
    }
  }
}

function randomText(): string {
  return randomBytes(24).toString('base64url');
}

export const tokenPath = '/oauth/token';

/**
 * Gives new tokens for a refresh token. Nothing of the request's body is recorded.
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-6
 */
export async function serveToken(provider: Provider, exchange: Exchange, body: Buffer): Promise<void> {
  const { tokens } = provider;
  const form = new URLSearchParams(body.toString());
  const refreshToken = form.get('refresh_token') ?? '';
  using underWay = tokens.begin(refreshToken);
  exchange.record.state.account = underWay.account;
  const problem = problemOf(exchange, form);
  const refresh = () => (problem === undefined ? tokens.refresh(refreshToken) : undefined);
  const refreshed = await withFaults(provider, exchange, {}, refresh);
  if (refreshed === undefined) return;
  if (refreshed.result !== undefined) {
    return await exchange.sendJson(200, refreshed.result, { 'cache-control': 'no-store' });
  }
  const error = problem ?? 'invalid_grant';
  await exchange.sendJson(400, { error, error_description: `Simulated: ${error}.` });
  exchange.record.end('refused');
}

function problemOf({ request }: Exchange, form: URLSearchParams): string | undefined {
  if (!request.headers['content-type']?.startsWith('application/x-www-form-urlencoded')) return 'invalid_request';
  if (form.get('grant_type') !== 'refresh_token') return 'unsupported_grant_type';
  return form.has('client_id') && form.has('refresh_token') ? undefined : 'invalid_request';
}
