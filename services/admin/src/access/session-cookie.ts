import type { Connection } from './caller.ts';

/** Cookies of this service. Neither scripts nor other hosts can read or set one that came over TLS. */
export type CookieName = 'session' | 'oidc';

/** What a Set-Cookie header says. `sameSite: 'Lax'` also lets a link on another site bring it. */
export function cookieText(
  name: CookieName,
  value: string,
  { isTls }: Pick<Connection, 'isTls'>,
  { maxAgeSeconds, sameSite = 'Strict' }: { readonly maxAgeSeconds: number; readonly sameSite?: 'Strict' | 'Lax' },
): string {
  const secure = isTls ? '; Secure' : '';
  return `${fullName(name, isTls)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${sameSite}${secure}`;
}

/** What a browser is to forget. */
export function noCookieText(name: CookieName, connection: Pick<Connection, 'isTls'>): string {
  return cookieText(name, '', connection, { maxAgeSeconds: 0 });
}

/**
 * The value of a cookie in a Cookie header. Browsers keep and send one with the long name over TLS alone, so that it counts also where
 * a proxy does not say that there was TLS; the short one counts only without.
 */
export function readCookie(header: string | null | undefined, name: CookieName, { isTls }: Pick<Connection, 'isTls'>) {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim());
  const read = (start: string) => pairs.find((pair) => pair.startsWith(start))?.slice(start.length) || undefined;
  return read(`${fullName(name, true)}=`) ?? (isTls ? undefined : read(`${fullName(name, false)}=`));
}

function fullName(name: CookieName, isTls: boolean): string {
  return isTls ? `__Host-gateway-${name}` : `gateway-${name}`;
}
