import { isIP } from 'node:net';
import { UpstreamError } from '../upstream-error.ts';

/** Where connections lead. */
export interface Origin {
  readonly isSecure: boolean;
  /** A name or an address, without the brackets that one has within a URL. */
  readonly hostname: string;
  readonly port: number;
  /** For the `host` header. */
  readonly host: string;
  /** Which name the certificate is asked for; undefined for addresses, which are never asked for. */
  readonly serverName: string | undefined;
}

/** Throws UpstreamError. */
export function parseOrigin(text: string): Origin {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new UpstreamError('network', 'The request can’t be sent: its origin is no http or https URL.');
  }
  const isSecure = url.protocol === 'https:';
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return {
    isSecure,
    hostname,
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    host: url.host,
    serverName: isIP(hostname) === 0 ? hostname : undefined,
  };
}
