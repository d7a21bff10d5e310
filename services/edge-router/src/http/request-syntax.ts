import type { IncomingMessage } from 'node:http';
import { HttpFault } from '../errors/http-fault.ts';

/**
 * What two parsers could read in two ways, and Node lets pass. Undefined when there is nothing of that kind.
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-3.2 and section 6.1 there
 */
export function syntaxFault(request: IncomingMessage): HttpFault | undefined {
  const { httpVersion } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return new HttpFault(400, 'Only HTTP/1.1 is spoken here.');
  return hostFault(request) ?? targetFault(request.url ?? '') ?? transferFault(request);
}

function hostFault({ headersDistinct, httpVersion }: IncomingMessage): HttpFault | undefined {
  const [host, another] = headersDistinct.host ?? [];
  if (another !== undefined) return new HttpFault(400, 'The header host is given more than once.');
  if (host === undefined) return httpVersion === '1.0' ? undefined : new HttpFault(400, 'The header host is missing.');
  return hostPattern.test(host) ? undefined : new HttpFault(400, 'The header host is no host.');
}

/** A name, IPv4 or bracketed IPv6 address, and perhaps a port; may be empty. */
const hostPattern = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-fA-Fv:.]+\])(?::\d*)?$/;

/** Only a path with or without query is taken, and `*`, which no endpoint has. */
function targetFault(target: string): HttpFault | undefined {
  if (target === '*' || (target.startsWith('/') && !target.includes('#'))) return undefined;
  return new HttpFault(400, 'The request target must be a path.');
}

/** Other codings than `chunked` would be taken for the body itself; HTTP/1.0 has none. */
function transferFault({ headers, httpVersion }: IncomingMessage): HttpFault | undefined {
  const coding = headers['transfer-encoding'];
  if (coding === undefined || (httpVersion === '1.1' && coding.toLowerCase() === 'chunked')) return undefined;
  return new HttpFault(400, 'The only transfer-encoding is chunked.');
}
