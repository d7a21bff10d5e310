import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/errors';
import { parseTokenText, tokenSha256 } from '@gateway/tokens';
import type { Principal } from './principal.ts';
import type { TokenCache } from './token-cache.ts';

export type AuthHeader = 'authorization' | 'x-api-key';

/** Who sends this request. Throws `unauthorized`: for a malformed token on its checksum, without a lookup. */
export async function authenticate(
  request: Pick<IncomingMessage, 'headersDistinct'>,
  ownHeader: AuthHeader,
  tokens: TokenCache,
): Promise<Principal> {
  const text = presentedToken(request, ownHeader);
  if (text === undefined || parseTokenText(text) === undefined) throw unauthorized('Missing or malformed token.');
  const principal = await tokens.resolve(tokenSha256(text));
  if (principal === undefined) throw unauthorized('The token is unknown or revoked.');
  return principal;
}

/**
 * The token text that a request presents: the endpoint's own header first, the other kind when it is missing or
 * malformed, because current SDKs mix them. A header that is given twice is refused: two proxies could read it
 * differently. @see spec "Authentication"
 */
function presentedToken(request: Pick<IncomingMessage, 'headersDistinct'>, ownHeader: AuthHeader): string | undefined {
  const otherHeader = ownHeader === 'authorization' ? 'x-api-key' : 'authorization';
  return tokenIn(request, ownHeader) ?? tokenIn(request, otherHeader);
}

function tokenIn({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>, header: AuthHeader) {
  const [value, another] = headersDistinct[header] ?? [];
  if (another !== undefined) throw unauthorized(`The header ${header} is given more than once.`);
  return value === undefined ? undefined : patterns[header].exec(value)?.[1];
}

const patterns = { authorization: /^Bearer +(\S+)$/i, 'x-api-key': /^(\S+)$/ } as const;

function unauthorized(message: string): GatewayError {
  return new GatewayError('unauthorized', message);
}
