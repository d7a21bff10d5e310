import type { StoredTokenKind } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import { type IssueRequest, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { createTokenText, tokenSha256 } from '@gateway/tokens';
import type { Identity } from '../identity.ts';
import { fromLimitsMessage, toTokenMessage } from '../messages/token-message.ts';
import { checkLabel, checkLimits } from '../tokens/token-rules.ts';

/** A new token. This answer is the only place where its text ever is. */
export async function issue({ store, hasher, clock }: Identity, request: IssueRequest) {
  const kind = fromKindMessage(request.kind);
  const label = checkLabel(request.label);
  const limits = checkLimits(kind, fromLimitsMessage(request.limits));
  const tokenText = createTokenText(kind);
  const hash = hasher.current(tokenSha256(tokenText));
  return { token: toTokenMessage(await store.add(kind, label, limits, hash, clock.nowMs())), tokenText };
}

function fromKindMessage(kind: TokenKind): StoredTokenKind {
  if (kind === TokenKind.SERVICE) return 'service';
  if (kind === TokenKind.PERSONAL) return 'personal';
  throw new GatewayError('invalid_request', 'kind must be service or personal.');
}
