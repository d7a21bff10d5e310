import { randomUUID } from 'node:crypto';
import { GatewayError } from '@gateway/errors';
import { type IssueRequest, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { createTokenText, tokenSha256 } from '@gateway/tokens';
import type { Identity } from '../identity.ts';
import { fromLimitsMessage, toTokenMessage } from '../messages/token-message.ts';
import type { Token } from '../tokens/token-rules.ts';
import { checkLabel, checkLimits } from '../tokens/token-rules.ts';

/** A new token. This answer is the only place where its text ever is. */
export async function issue({ store, hasher, clock }: Identity, request: IssueRequest) {
  const kind = fromKindMessage(request.kind);
  const token: Token = {
    tokenId: randomUUID(),
    kind,
    label: checkLabel(request.label),
    limits: checkLimits(kind, fromLimitsMessage(request.limits)),
    createdAtMs: clock.nowMs(),
    revokedAtMs: undefined,
  };
  const tokenText = createTokenText(kind);
  await store.add(token, hasher.current(tokenSha256(tokenText)));
  return { token: toTokenMessage(token), tokenText };
}

function fromKindMessage(kind: TokenKind): Token['kind'] {
  if (kind === TokenKind.SERVICE) return 'service';
  if (kind === TokenKind.PERSONAL) return 'personal';
  throw new GatewayError('invalid_request', 'kind must be service or personal.');
}
