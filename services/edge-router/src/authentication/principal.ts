import { hash } from 'node:crypto';
import { type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';

/** Who is calling. */
export interface Principal {
  readonly tokenId: string;
  /** What the broker knows a token by: the same for every request of it, and nothing can be read from it. */
  readonly caller: string;
  readonly kind: 'service' | 'personal';
  readonly label: string;
  /** Both absent for personal tokens. */
  readonly limits: TokenLimits;
}

export interface TokenLimits {
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerDay: number | undefined;
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

/** A token's opaque key for services that tell callers apart and need not know who they are. */
export function callerKey(tokenId: string): string {
  return hash('sha256', `caller\n${tokenId}`, 'base64url').slice(0, keyLength);
}

/** 120 bits: two tokens never share a key, and a label of a request stays short. */
const keyLength = 20;
