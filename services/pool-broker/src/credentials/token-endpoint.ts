import type { OAuthCredential, Secret } from '@gateway/config';
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
export const requestTokens: TokenEndpoint = async ({ credential, refreshToken, timeoutMs, nowMs }) => {
  const askedAtMs = nowMs();
  try {
    const response = await fetch(credential.tokenUrl, {
      method: 'POST',
      headers: { accept: 'application/json' },
      body: formOf(credential, refreshToken),
      // A redirect would carry the refresh token to another place.
      redirect: 'manual',
      // Not ended by the end of a caller or of the broker: the answer to a question that was asked must be kept.
      signal: AbortSignal.timeout(timeoutMs),
    });
    const { status, headers } = response;
    const text = await readLimited(response);
    return toTokenAnswer({ status, text, retryAfter: headers.get('retry-after') ?? undefined, askedAtMs });
  } catch (thrown) {
    return { kind: 'unavailable', reason: failureOf(thrown), retryAfterMs: undefined, mayHaveCounted: true };
  }
};

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

/** The text of an answer. @throws RangeError when it is too long; the rest of it is not read. */
async function readLimited({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) throw new RangeError('The answer is too long.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const maxAnswerBytes = 64 * 1024;

/** What went wrong on the way, in a word of Node's: "ECONNREFUSED", "TimeoutError". */
function failureOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
  if (!(cause instanceof Error)) return 'no answer';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
}
