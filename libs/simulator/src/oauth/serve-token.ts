import type { Exchange } from '../exchange.ts';
import type { Provider } from '../provider.ts';
import { withFaults } from '../with-faults.ts';

export const tokenPath = '/oauth/token';

/**
 * Exchanges a refresh token for new tokens. The request's body is not recorded.
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
