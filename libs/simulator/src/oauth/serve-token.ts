import type { AnswerSettings } from '../answer-request.ts';
import { delayHeaders } from '../answer-request.ts';
import type { Exchange } from '../exchange.ts';
import type { FaultBook } from '../faults/fault-book.ts';
import { consume, insteadOfAnswer, matchFaults, replaceAnswer } from '../serve-generation.ts';
import type { TokenFamilies } from './token-families.ts';

export const tokenPath = '/oauth/token';

interface TokenEndpoint {
  readonly tokens: TokenFamilies;
  readonly faults: FaultBook;
  readonly settings: AnswerSettings;
}

/**
 * Gives new tokens for a refresh token. Nothing of the request's body is recorded.
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-6
 */
export async function serveToken(endpoint: TokenEndpoint, exchange: Exchange, body: Buffer): Promise<void> {
  const form = new URLSearchParams(body.toString());
  const refreshToken = form.get('refresh_token') ?? '';
  const account = endpoint.tokens.accountOfRefreshToken(refreshToken);
  exchange.record.change({ account: account ?? null });
  const end = endpoint.tokens.begin(refreshToken);
  try {
    await answer(endpoint, exchange, { form, refreshToken, account: account ?? '' });
  } finally {
    end();
  }
}

interface TokenRequest {
  readonly form: URLSearchParams;
  readonly refreshToken: string;
  readonly account: string;
}

async function answer(endpoint: TokenEndpoint, exchange: Exchange, request: TokenRequest): Promise<void> {
  const faults = matchFaults(exchange, endpoint.faults, { account: request.account, body: {} });
  const instead = insteadOfAnswer(faults);
  if (instead !== undefined) return replaceAnswer(exchange, faults, instead, endpoint.settings.nowMs);
  consume(exchange, faults);
  const problem = problemOf(endpoint.tokens, exchange, request.form);
  const tokens = problem === undefined ? endpoint.tokens.refresh(request.refreshToken) : undefined;
  // The tokens have changed by now, whether the answer arrives or not: so it is with a provider whose answer is lost.
  await delayHeaders(exchange, faults);
  if (tokens === undefined) return refuse(exchange, problem ?? 'invalid_grant');
  await exchange.sendJson(
    200,
    {
      access_token: tokens.accessToken,
      refresh_token: tokens.refreshToken,
      token_type: 'Bearer',
      expires_in: tokens.expiresInSeconds,
    },
    { 'cache-control': 'no-store' },
  );
  exchange.record.end('completed');
}

function problemOf({ clientSecrets }: TokenFamilies, { request }: Exchange, form: URLSearchParams): string | undefined {
  if (!request.headers['content-type']?.startsWith('application/x-www-form-urlencoded')) return 'invalid_request';
  if (form.get('grant_type') !== 'refresh_token') return 'unsupported_grant_type';
  const clientId = form.get('client_id');
  if (clientId === null || !form.has('refresh_token')) return 'invalid_request';
  const secret = clientSecrets[clientId];
  return secret === undefined || secret === form.get('client_secret') ? undefined : 'invalid_client';
}

async function refuse(exchange: Exchange, error: string): Promise<void> {
  await exchange.sendJson(error === 'invalid_client' ? 401 : 400, { error, error_description: `Simulated: ${error}.` });
  exchange.record.end('refused');
}
