import type { Request } from 'express';
import type { Connection } from '../access/caller.ts';

/** Express' setting with the address of the console in browsers. */
export const publicUrlSetting = 'public url';

/** How a request came. Proxies are believed that ADMIN_TRUSTED_PROXIES names. */
export function connectionOf(request: Request): Connection {
  // Where IPv4 comes to a socket of IPv6.
  return { address: (request.ip ?? '').replace(/^::ffff:(?=\d+\.)/, ''), isTls: isTls(request) };
}

/**
 * Whether the browser came over TLS: as the connection says, or since it asked for the address of the console, which begins with
 * https:, whatever is known of the proxy in between.
 */
function isTls({ secure, headers: { origin, host }, path, app }: Request): boolean {
  const setting: unknown = app.get(publicUrlSetting);
  const publicUrl = typeof setting === 'string' ? new URL(setting) : undefined;
  if (secure || publicUrl?.protocol !== 'https:') return secure;
  // The provider of OpenID Connect knows no other address.
  if (path.startsWith('/oidc/')) return true;
  return origin === undefined ? host?.toLowerCase() === publicUrl.host : origin === publicUrl.origin;
}
