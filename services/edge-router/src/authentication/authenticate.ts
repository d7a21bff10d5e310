import type { IncomingMessage } from 'node:http';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { type IdentityService, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Client } from '@gateway/rpc';
import { parseTokenText } from '@gateway/tokens';
import { callerKey } from './caller-key.ts';
import { type AuthHeader, presentedToken, unauthorized } from './credentials.ts';
import type { Principal } from './principal.ts';
import type { TokenCache } from './token-cache.ts';
import { tokenDigest } from './token-digest.ts';

/**
 * Who sends this request: at once for a token that is known, which most are. Throws `unauthorized`, or rejects with it. A
 * malformed token dies on its checksum, without a lookup.
 */
export function authenticate(
  request: IncomingMessage,
  ownHeader: AuthHeader,
  tokens: TokenCache,
): Promise<Principal> | Principal {
  const text = presentedToken(request, ownHeader);
  const digest = tokenDigest(request, text);
  const known = tokens.known(digest);
  if (known !== undefined) return known;
  if (parseTokenText(text) === undefined) throw unauthorized('Missing or malformed token.');
  const resolved = tokens.resolve(Buffer.from(digest, 'latin1'));
  return resolved instanceof Promise ? resolved.then(existing) : existing(resolved);
}

function existing(principal: Principal | undefined): Principal {
  if (principal === undefined) throw unauthorized('The token is unknown or revoked.');
  return principal;
}

/** Asks the identity service for the principal behind a digest. */
export function identityResolver(identity: Client<typeof IdentityService>, timeoutMs: number) {
  return async (digest: Buffer): Promise<Principal | undefined> => {
    const { token } = await identity.resolve({ tokenSha256: digest }, { timeoutMs });
    return token === undefined ? undefined : toPrincipal(token);
  };
}

function toPrincipal({ tokenId, kind, label, limits }: Token): Principal {
  const caller = callerKey(tokenId);
  if (kind !== TokenKind.SERVICE) {
    const unlimited = { requestsPerMinute: undefined, tokensPerDay: undefined };
    return { tokenId, caller, kind: 'personal', label, limits: unlimited };
  }
  const tokensPerDay = limits?.tokensPerDay;
  return {
    tokenId,
    caller,
    kind: 'service',
    label,
    limits: {
      requestsPerMinute: limits?.requestsPerMinute,
      tokensPerDay: tokensPerDay === undefined ? undefined : Number(tokensPerDay),
    },
  };
}
