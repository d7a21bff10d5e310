import { GatewayError } from '@gateway/errors';
import type { SetLimitsRequest } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Identity } from '../identity.ts';
import { fromLimitsMessage, toTokenMessage } from '../messages/token-message.ts';
import type { Token } from '../store/token-store.ts';
import { checkLimits } from '../tokens/token-rules.ts';

/** Replaces both limits of a valid service token; an absent limit is lifted. */
export async function setLimits({ store, changes, clock }: Identity, request: SetLimitsRequest) {
  const limits = checkLimits('service', fromLimitsMessage(request.limits));
  const token = await store.setLimits(request.tokenId, limits, clock.nowMs());
  if (token === undefined) throw whyNotLimited(await store.findById(request.tokenId));
  changes.announce();
  return { token: toTokenMessage(token) };
}

function whyNotLimited(token: Token | undefined): GatewayError {
  if (token === undefined) return new GatewayError('not_found', 'There is no token with this token_id.');
  if (token.kind === 'personal') return new GatewayError('invalid_request', 'A personal token has no limits.');
  return new GatewayError('invalid_request', 'The token is revoked.');
}
