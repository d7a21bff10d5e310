import { TrustedProxies } from '@gateway/config';
import type { Request } from 'express';
import type { Connection } from '../access/caller.ts';

/** The Express setting with the console's address for browsers. */
export const publicUrlSetting = 'public url';

/** The Express setting with the proxies of ADMIN_TRUSTED_PROXIES. */
export const trustedProxiesSetting = 'trusted proxies';

/** The connection of a request. Trusts the proxies of ADMIN_TRUSTED_PROXIES. */
export function connectionOf(request: Request): Connection {
  const proxies: unknown = request.app.get(trustedProxiesSetting);
  const { socket, headers } = request;
  const address =
    proxies instanceof TrustedProxies
      ? proxies.clientAddress(socket.remoteAddress, headers['x-forwarded-for'])
      : (socket.remoteAddress ?? '');
  return { address, isTls: isTls(request) };
}

/** Ends with the browser's connection. */
export function leftSignal({ socket }: Request): AbortSignal {
  const left = new AbortController();
  socket.once('close', () => left.abort());
  return left.signal;
}

/**
 * Whether the browser uses TLS. The connection says so, or the request is for the console's public
 * address and that begins with https:, even if the proxy in between is unknown.
 */
function isTls({ secure, headers: { origin, host }, path, app }: Request): boolean {
  const setting: unknown = app.get(publicUrlSetting);
  const publicUrl = typeof setting === 'string' ? new URL(setting) : undefined;
  if (secure || publicUrl?.protocol !== 'https:') return secure;
  // The OpenID Connect provider has only the public address.
  if (path.startsWith('/oidc/')) return true;
  return origin === undefined ? host?.toLowerCase() === publicUrl.host : origin === publicUrl.origin;
}
