import type { Request } from 'express';
import type { Connection } from '../access/caller.ts';

/** How a request came. Proxies are believed that ADMIN_TRUSTED_PROXIES names. */
export function connectionOf({ ip = '', secure }: Request): Connection {
  // Where IPv4 comes to a socket of IPv6.
  return { address: ip.replace(/^::ffff:(?=\d+\.)/, ''), isTls: secure };
}
