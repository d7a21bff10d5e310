import type { Exchange } from '../exchange.ts';
import { injectFaults } from '../serve-generation.ts';
import type { Provider } from '../serve-request.ts';
import type { TokenAnswer, TokenFamilies } from './token-families.ts';

export const tokenPath = '/oauth/token';

/**
 * Gives new tokens for a refresh token. Nothing of the request's body is recorded.
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-6
 */
export async function serveToken(provider: Provider, exchange: Exchange, body: Buffer): Promise<void> {
  const form = new URLSearchParams(body.toString());
  const refreshToken = form.get('refresh_token') ?? '';
  const account = provider.tokens.accountOfRefreshToken(refreshToken);
  exchange.record.change({ account: account ?? null });
  const end = provider.tokens.begin(refreshToken);
  try {
    const problem = problemOf(provider.tokens, exchange, form);
    let tokens: TokenAnswer | undefined;
    // The tokens change whether the answer arrives or not: so it is with a provider whose answer is lost.
    const refresh = () => {
      tokens = problem === undefined ? provider.tokens.refresh(refreshToken) : undefined;
    };
    const faulty = { account: account ?? '', body: {} };
    if ((await injectFaults(provider, exchange, faulty, refresh)) === 'answered') return;
    await answer(exchange, tokens ?? problem ?? 'invalid_grant');
  } finally {
    end();
  }
}

async function answer(exchange: Exchange, result: TokenAnswer | string): Promise<void> {
  if (typeof result === 'string') {
    const status = result === 'invalid_client' ? 401 : 400;
    await exchange.sendJson(status, { error: result, error_description: `Simulated: ${result}.` });
    return exchange.record.end('refused');
  }
  const { accessToken, refreshToken, expiresInSeconds } = result;
  await exchange.sendJson(
    200,
    { access_token: accessToken, refresh_token: refreshToken, token_type: 'Bearer', expires_in: expiresInSeconds },
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
