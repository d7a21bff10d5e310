import { Secret } from '@gateway/config';
import { z } from 'zod';

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

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | undefined;
  readonly askedAtMs: number;
}

/** @see https://www.rfc-editor.org/rfc/rfc6749#section-5 */
export function toTokenAnswer(answer: HttpAnswer): TokenAnswer {
  const { status, text } = answer;
  if (status === 200) return toTokens(answer);
  const error = knownErrors.find((known) => known === errorOf(text));
  if (status === 400 || status === 401 || status === 403) {
    if (error === 'invalid_grant') return { kind: 'invalid_grant' };
    if (error !== undefined) return { kind: 'refused', reason: `HTTP ${status}, ${error}` };
  }
  const isLimited = status === 429 || status >= 500;
  const reason = `HTTP ${status}`;
  if (!isLimited) return { kind: 'refused', reason };
  return {
    kind: 'unavailable',
    reason,
    retryAfterMs: toRetryAfterMs(answer.retryAfter),
    mayHaveCounted: status >= 500,
  };
}

/** Errors of the standard. Any other word could be anything, a secret included, and is not repeated. */
const knownErrors = [
  'invalid_grant',
  'invalid_request',
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
] as const;

const token = z.string().regex(/^[\x21-\x7e]+$/);

const tokensSchema = z.object({
  access_token: token,
  refresh_token: token.nullish(),
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
    accessToken: new Secret(data.access_token),
    refreshToken: data.refresh_token == null ? undefined : new Secret(data.refresh_token),
    // Counted from the question on: the token does not live longer than that.
    expiresAtMs: askedAtMs + (data.expires_in ?? unknownLifetimeSeconds) * 1_000,
  };
}

const errorSchema = z.object({ error: z.string() });

function errorOf(text: string): string | undefined {
  return errorSchema.safeParse(parseJson(text)).data?.error;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toRetryAfterMs(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) * 1_000 : undefined;
}
