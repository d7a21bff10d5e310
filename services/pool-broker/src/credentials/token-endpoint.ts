import type { OAuthCredential, Proxies, Secret } from '@gateway/config';
import { secretText } from '@gateway/config/encryption';
import { parseJson } from '@gateway/json';
import { timeoutSignal } from '@gateway/time';
import { type Dispatcher, EnvHttpProxyAgent, interceptors, request } from 'undici';
import { z } from 'zod';

export interface NewTokens {
  readonly kind: 'tokens';
  readonly accessToken: Secret;
  readonly refreshToken: Secret | undefined;
  readonly expiresAtMs: number;
}

export type TokenAnswer =
  | NewTokens
  | { readonly kind: 'invalid_grant' }
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly retryAfterMs: number;
      /** True when the endpoint may have issued new tokens in an answer that was lost. */
      readonly mayHaveCounted: boolean;
    };

/**
 * Requests new tokens from a provider's token endpoint. Never throws; no answer contains text from
 * the endpoint.
 */
export type TokenEndpoint = (
  credential: OAuthCredential,
  refreshToken: Secret,
  askedAtMs: number,
) => Promise<TokenAnswer>;

/** @see https://www.rfc-editor.org/rfc/rfc6749#section-6 */
export function tokenEndpoint(proxies: Proxies, timeoutMs: number): TokenEndpoint {
  // Each request has a connection of its own, so that none fails because an idle connection was
  // closed.
  const connections = new EnvHttpProxyAgent({ ...proxies, maxResponseSize: maxAnswerBytes, pipelining: 0 });
  // Created for the first request: undici prints a warning when it is created, which most processes
  // need not show.
  let decoding: Dispatcher | undefined;
  return async (credential, refreshToken, askedAtMs) => {
    decoding ??= connections.compose(interceptors.decompress({ skipErrorResponses: false, maxSize: maxAnswerBytes }));
    try {
      // Redirects are not followed: one would send the refresh token to another server.
      const { statusCode, headers, body } = await request(credential.tokenUrl, {
        dispatcher: decoding,
        method: 'POST',
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: formOf(credential, refreshToken).toString(),
        // Not aborted when the caller or the broker stops: the answer to a request that was sent
        // must be kept.
        signal: timeoutSignal(timeoutMs),
      });
      const retryAfter = headers['retry-after']?.toString();
      return toTokenAnswer(statusCode, await body.text(), askedAtMs, retryAfter);
    } catch (thrown) {
      return { ...failed, reason: `the token endpoint fails: ${failureOf(thrown)}`, mayHaveCounted: true };
    }
  };
}

const maxAnswerBytes = 64 * 1024;

/** @see https://www.rfc-editor.org/rfc/rfc6749#section-5 */
export function toTokenAnswer(status: number, text: string, askedAtMs: number, retryAfter = ''): TokenAnswer {
  const json = parseJson(text);
  if (status === 200) {
    const { data } = tokensSchema.safeParse(json);
    if (data === undefined)
      return { ...failed, reason: 'the token endpoint fails: HTTP 200 without tokens', mayHaveCounted: true };
    // Counted from the request, because the token can't live longer than that.
    const expiresAtMs = askedAtMs + (data.expires_in ?? unknownLifetimeSeconds) * 1_000;
    const { access_token: accessToken, refresh_token: refreshToken } = data;
    return { kind: 'tokens', accessToken, refreshToken: refreshToken ?? undefined, expiresAtMs };
  }
  if (status === 429 || status >= 500) {
    const retryAfterMs = /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : 0;
    const reason = `the token endpoint fails: HTTP ${status}`;
    return { kind: 'failed', reason, retryAfterMs, mayHaveCounted: status >= 500 };
  }
  const isOfStandard = status === 400 || status === 401 || status === 403;
  const error = isOfStandard ? errorSchema.safeParse(json).data?.error : undefined;
  if (error === 'invalid_grant') return { kind: 'invalid_grant' };
  const words = [`HTTP ${status}`, error].filter((word) => word !== undefined);
  return { ...failed, reason: `the token endpoint refuses: ${words.join(', ')}`, retryAfterMs: refusedPauseMs };
}

const failed = { kind: 'failed', retryAfterMs: 0, mayHaveCounted: false } as const;

// The configuration must change first; occasional retries detect a change on the provider's side.
const refusedPauseMs = 300_000;

// If the endpoint does not report a lifetime, the token is replaced soon.
const unknownLifetimeSeconds = 600;

const matching = (pattern: RegExp) => z.string().regex(pattern);

/** Errors of the standard. Any other text could contain a secret and is not repeated. */
const errorSchema = z.object({
  error: matching(/^(invalid_(grant|request|client|scope)|unauthorized_client|unsupported_grant_type)$/),
});

const sendable = matching(/^[\x21-\x7e]+$/).pipe(secretText);

const tokensSchema = z.object({
  access_token: sendable,
  refresh_token: sendable.nullish(),
  token_type: matching(/^bearer$/i).nullish(),
  expires_in: z.coerce.number().positive().max(31_536_000).nullish().catch(undefined),
});

function formOf(credential: OAuthCredential, refreshToken: Secret): URLSearchParams {
  const { clientId, clientSecret, scopes } = credential;
  return new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: refreshToken.reveal(),
    client_id: clientId,
    ...(clientSecret === undefined ? {} : { client_secret: clientSecret.reveal() }),
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
  });
}

/** The transport error in one word of Node's: "ECONNREFUSED", "TimeoutError". */
function failureOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
  if (!(cause instanceof Error)) return 'no answer';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
}
