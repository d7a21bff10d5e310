import type { OAuthCredential, Secret } from '@gateway/config';
import { readLimited } from './read-limited.ts';
import { type TokenAnswer, toTokenAnswer } from './token-answer.ts';

export interface TokenRequest {
  readonly credential: OAuthCredential;
  readonly refreshToken: Secret;
  /** After so long there is no answer. */
  readonly timeoutMs: number;
  readonly nowMs: () => number;
}

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
      // A redirect would carry the refresh token to whoever it names.
      redirect: 'manual',
      // Not ended by the end of a caller or of the broker: the answer to a question that was asked must be kept.
      signal: AbortSignal.timeout(timeoutMs),
    });
    const { status, headers } = response;
    const text = await readLimited(response, maxAnswerBytes);
    return toTokenAnswer({ status, text, retryAfter: headers.get('retry-after') ?? undefined, askedAtMs });
  } catch (thrown) {
    return { kind: 'unavailable', reason: failureOf(thrown), retryAfterMs: undefined, mayHaveCounted: true };
  }
};

const maxAnswerBytes = 64 * 1024;

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
