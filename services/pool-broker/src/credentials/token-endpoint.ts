import type { OAuthCredential, Proxies, Secret } from '@gateway/config';
import { EnvHttpProxyAgent, request } from 'undici';
import { z } from 'zod';
import { parseJson, secretText } from './credential-text.ts';

export interface TokenRequest {
  readonly credential: OAuthCredential;
  readonly refreshToken: Secret;
  /** After so long there is no answer. */
  readonly timeoutMs: number;
  readonly nowMs: () => number;
}

export type TokenAnswer =
  | {
      readonly kind: 'tokens';
      readonly accessToken: Secret;
      /** Undefined: the one that was sent stays good. */
      readonly refreshToken: Secret | undefined;
      readonly expiresAtMs: number;
    }
  /** The refresh token is not good (any more). */
  | { readonly kind: 'invalid_grant' }
  /** The endpoint does not take what is configured: a person has to look at it. */
  | { readonly kind: 'refused'; readonly reason: string }
  | {
      readonly kind: 'unavailable';
      readonly reason: string;
      readonly retryAfterMs: number | undefined;
      /** True when the endpoint may have answered with new tokens, and the answer was lost. */
      readonly mayHaveCounted: boolean;
    };

/** Asks a provider's token endpoint for new tokens. Never throws; no answer holds a word that the endpoint made up. */
export type TokenEndpoint = (request: TokenRequest) => Promise<TokenAnswer>;

/** @see https://www.rfc-editor.org/rfc/rfc6749#section-6 */
export function tokenEndpoint(proxies: Proxies): TokenEndpoint {
  const dispatcher = new EnvHttpProxyAgent({ ...proxies, maxResponseSize: maxAnswerBytes, pipelining: 0 });
  return async ({ credential, refreshToken, timeoutMs, nowMs }) => {
    const askedAtMs = nowMs();
    try {
      // Redirects are not followed: one would carry the refresh token to another place.
      const { statusCode, headers, body } = await request(credential.tokenUrl, {
        dispatcher,
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
        body: formOf(credential, refreshToken).toString(),
        // Not ended by the end of a caller or of the broker: the answer to a question that was asked must be kept.
        signal: AbortSignal.timeout(timeoutMs),
      });
      const retryAfter = headers['retry-after']?.toString();
      return toTokenAnswer({ status: statusCode, text: await body.text(), retryAfter, askedAtMs });
    } catch (thrown) {
      return { kind: 'unavailable', reason: failureOf(thrown), retryAfterMs: undefined, mayHaveCounted: true };
    }
  };
}

const maxAnswerBytes = 64 * 1024;

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | undefined;
  readonly askedAtMs: number;
}

/** @see https://www.rfc-editor.org/rfc/rfc6749#section-5 */
export function toTokenAnswer(answer: HttpAnswer): TokenAnswer {
  const { status, text, retryAfter } = answer;
  if (status === 200) return toTokens(answer);
  const reason = `HTTP ${status}`;
  if (status === 429 || status >= 500) {
    const retryAfterMs = /^\d{1,6}$/.test(retryAfter ?? '') ? Number(retryAfter) * 1_000 : undefined;
    return { kind: 'unavailable', reason, retryAfterMs, mayHaveCounted: status >= 500 };
  }
  const isOfStandard = status === 400 || status === 401 || status === 403;
  const error = isOfStandard ? errorSchema.safeParse(parseJson(text)).data?.error : undefined;
  if (error === 'invalid_grant') return { kind: 'invalid_grant' };
  return { kind: 'refused', reason: error === undefined ? reason : `${reason}, ${error}` };
}

/** Errors of the standard. Any other word could be anything, a secret included, and is not repeated. */
const errorSchema = z.object({
  error: z.enum([
    'invalid_grant',
    'invalid_request',
    'invalid_client',
    'unauthorized_client',
    'unsupported_grant_type',
    'invalid_scope',
  ]),
});

const sendable = z
  .string()
  .regex(/^[\x21-\x7e]+$/)
  .pipe(secretText);

const tokensSchema = z.object({
  access_token: sendable,
  refresh_token: sendable.nullish(),
  token_type: z
    .string()
    .regex(/^bearer$/i)
    .nullish(),
  expires_in: z.coerce.number().positive().max(31_536_000).nullish().catch(undefined),
});

// An endpoint that does not say how long the token lives is asked again soon.
const unknownLifetimeSeconds = 600;

function toTokens({ text, askedAtMs }: HttpAnswer): TokenAnswer {
  const { data } = tokensSchema.safeParse(parseJson(text));
  if (data === undefined) {
    return { kind: 'unavailable', reason: 'HTTP 200 without tokens', retryAfterMs: undefined, mayHaveCounted: true };
  }
  return {
    kind: 'tokens',
    accessToken: data.access_token,
    refreshToken: data.refresh_token ?? undefined,
    // Counted from the question on: the token does not live longer than that.
    expiresAtMs: askedAtMs + (data.expires_in ?? unknownLifetimeSeconds) * 1_000,
  };
}

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

/** What went wrong on the way, in a word of Node's: "ECONNREFUSED", "TimeoutError". */
function failureOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
  if (!(cause instanceof Error)) return 'no answer';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
}
