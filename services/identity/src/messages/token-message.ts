import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { TokenKind, type TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Limits } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { Token } from '../store/token-store.ts';
import type { TokenLimits } from '../tokens/token-rules.ts';

/** A token as it travels. */
export function toTokenMessage(token: Token): MessageInitShape<typeof TokenSchema> {
  return {
    tokenId: token.token_id,
    kind: token.kind === 'service' ? TokenKind.SERVICE : TokenKind.PERSONAL,
    label: token.label,
    limits: {
      requestsPerMinute: token.requests_per_minute ?? undefined,
      tokensPerDay: token.tokens_per_day === null ? undefined : BigInt(token.tokens_per_day),
    },
    createdAt: timestampFromMs(token.created_at_ms),
    revokedAt: token.revoked_at_ms === null ? undefined : timestampFromMs(token.revoked_at_ms),
  };
}

/** Limits as they came; absent ones are not limited. A count beyond the safe integers is caught by the rules of tokens. */
export function fromLimitsMessage(limits: Limits | undefined): TokenLimits {
  return {
    requestsPerMinute: limits?.requestsPerMinute,
    tokensPerDay: limits?.tokensPerDay === undefined ? undefined : Number(limits.tokensPerDay),
  };
}
