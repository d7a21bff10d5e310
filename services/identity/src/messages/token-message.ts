import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { TokenKind, type TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Limits } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { Token, TokenLimits } from '../tokens/token-rules.ts';

/** A token as it travels. */
export function toTokenMessage(token: Token): MessageInitShape<typeof TokenSchema> {
  const { requestsPerMinute, tokensPerDay } = token.limits;
  return {
    tokenId: token.tokenId,
    kind: token.kind === 'service' ? TokenKind.SERVICE : TokenKind.PERSONAL,
    label: token.label,
    limits: {
      requestsPerMinute,
      tokensPerDay: tokensPerDay === undefined ? undefined : BigInt(tokensPerDay),
    },
    createdAt: timestampFromMs(token.createdAtMs),
    revokedAt: token.revokedAtMs === undefined ? undefined : timestampFromMs(token.revokedAtMs),
  };
}

/** Limits as they came; absent ones are not limited. A count beyond the safe integers is caught by the rules of tokens. */
export function fromLimitsMessage(limits: Limits | undefined): TokenLimits {
  return {
    requestsPerMinute: limits?.requestsPerMinute,
    tokensPerDay: limits?.tokensPerDay === undefined ? undefined : Number(limits.tokensPerDay),
  };
}
