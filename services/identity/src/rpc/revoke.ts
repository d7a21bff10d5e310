import { GatewayError } from '@gateway/errors';
import type { RevokeRequest } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Identity } from '../identity.ts';
import { toTokenMessage } from '../messages/token-message.ts';

/** Ends a token for good. One that is revoked already stays revoked since then. */
export async function revoke({ store, changes, clock }: Identity, { tokenId }: RevokeRequest) {
  const token = await store.revoke(tokenId, clock.nowMs());
  if (token === undefined) throw new GatewayError('not_found', 'There is no token with this token_id.');
  changes.announce();
  return { token: toTokenMessage(token) };
}
