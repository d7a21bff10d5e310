import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/errors';
import { type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { parseTokenText, tokenSha256 } from '@gateway/tokens';
import type { TokenCache } from './token-cache.ts';

/** Who is calling. */
export interface Principal {
  readonly tokenId: string;
  /** What the broker knows a token by: the same for every request of it, and nothing can be read from it. */
  readonly caller: string;
  readonly kind: 'service' | 'personal';
  readonly label: string;
  /** Both absent for personal tokens. */
  readonly limits: { readonly requestsPerMinute: number | undefined; readonly tokensPerDay: number | undefined };
}

export type AuthHeader = 'authorization' | 'x-api-key';

/** Who sends this request. Throws `unauthorized`: for a malformed token on its checksum, without a lookup. */
export async function authenticate(
  { headersDistinct: headers }: Pick<IncomingMessage, 'headersDistinct'>,
  ownHeader: AuthHeader,
  tokens: TokenCache,
): Promise<Principal> {
  const otherHeader = ownHeader === 'authorization' ? 'x-api-key' : 'authorization';
  // The other kind when the endpoint's own is missing or malformed: current SDKs mix them. @see spec "Authentication"
  const text = tokenIn(headers, ownHeader) ?? tokenIn(headers, otherHeader);
  if (text === undefined || parseTokenText(text) === undefined) throw unauthorized('Missing or malformed token.');
  const principal = await tokens.resolve(tokenSha256(text));
  if (principal === undefined) throw unauthorized('The token is unknown or revoked.');
  return principal;
}

/** A header that is given twice is refused: two proxies could read it differently. */
function tokenIn(headers: IncomingMessage['headersDistinct'], header: AuthHeader): string | undefined {
  const [value, another] = headers[header] ?? [];
  if (another !== undefined) throw unauthorized(`The header ${header} is given more than once.`);
  return value === undefined ? undefined : patterns[header].exec(value)?.[1];
}

const patterns = { authorization: /^Bearer +(\S+)$/i, 'x-api-key': /^(\S+)$/ } as const;

function unauthorized(message: string): GatewayError {
  return new GatewayError('unauthorized', message);
}

export function toPrincipal({ tokenId, kind, label, limits }: Token): Principal {
  const isService = kind === TokenKind.SERVICE;
  const { requestsPerMinute, tokensPerDay } = (isService ? limits : undefined) ?? {};
  return {
    tokenId,
    caller: callerKey(tokenId),
    kind: isService ? 'service' : 'personal',
    label,
    limits: { requestsPerMinute, tokensPerDay: tokensPerDay === undefined ? undefined : Number(tokensPerDay) },
  };
}

/** A token's opaque key for services that distinguish callers and need not know who they are. */
export function callerKey(tokenId: string): string {
  return hash('sha256', `caller\n${tokenId}`, 'base64url').slice(0, keyLength);
}

/** 120 bits: two tokens never share a key, and a label of a request stays short. */
const keyLength = 20;
