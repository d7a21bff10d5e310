import type { Connection } from './caller.ts';

/** Cookies of this service. Over TLS, neither scripts nor other hosts can read or set them. */
export type CookieName = 'session' | 'oidc';

/**
 * The text of a Set-Cookie header. With `sameSite: 'Lax'` browsers also send the cookie when they
 * follow a link on another site.
 */
export function cookieText(
  name: CookieName,
  value: string,
  { isTls }: Pick<Connection, 'isTls'>,
  { maxAgeSeconds, sameSite = 'Strict' }: { readonly maxAgeSeconds: number; readonly sameSite?: 'Strict' | 'Lax' },
): string {
  const secure = isTls ? '; Secure' : '';
  return `${fullName(name, isTls)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${sameSite}${secure}`;
}

/** The Set-Cookie text that removes a cookie. */
export function noCookieText(name: CookieName, connection: Pick<Connection, 'isTls'>): string {
  return cookieText(name, '', connection, { maxAgeSeconds: 0 });
}

/**
 * The value of a cookie in a Cookie header. Browsers keep and send the long name only over TLS, so
 * it is valid even if a proxy does not report TLS. The short name is valid only without TLS.
 */
export function readCookie(header: string | null | undefined, name: CookieName, { isTls }: Pick<Connection, 'isTls'>) {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim());
  const read = (start: string) => pairs.find((pair) => pair.startsWith(start))?.slice(start.length) || undefined;
  return read(`${fullName(name, true)}=`) ?? (isTls ? undefined : read(`${fullName(name, false)}=`));
}

function fullName(name: CookieName, isTls: boolean): string {
  return isTls ? `__Host-gateway-${name}` : `gateway-${name}`;
}
