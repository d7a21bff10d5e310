import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/errors';
import { valuesOf } from '../http/raw-headers.ts';

export type AuthHeader = 'authorization' | 'x-api-key';

/**
 * The token text that a request presents: the endpoint's own header first, the other kind when it is missing or
 * malformed, because current SDKs mix them. A header that is given twice is refused: two proxies could read it
 * differently. @see spec "Authentication"
 */
export function presentedToken(request: IncomingMessage, ownHeader: AuthHeader): string {
  const otherHeader = ownHeader === 'authorization' ? 'x-api-key' : 'authorization';
  const text = tokenIn(request, ownHeader) ?? tokenIn(request, otherHeader);
  if (text === undefined) throw unauthorized('Missing or malformed token.');
  return text;
}

export function unauthorized(message: string): GatewayError {
  return new GatewayError('unauthorized', message);
}

function tokenIn(request: IncomingMessage, header: AuthHeader): string | undefined {
  const values = valuesOf(request.rawHeaders, header);
  if (values.length > 1) throw unauthorized(`The header ${header} is given more than once.`);
  const [value] = values;
  if (value === undefined) return undefined;
  const pattern = header === 'authorization' ? bearer : bare;
  return pattern.exec(value)?.[1];
}

const bearer = /^Bearer +(\S+)$/i;
const bare = /^(\S+)$/;
