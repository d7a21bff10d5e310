import { GatewayError } from '@gateway/errors';
import type { ResolveRequest } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Identity } from '../identity.ts';
import { toTokenMessage } from '../messages/token-message.ts';

/** The token behind a digest; no token when it is unknown or revoked. */
export async function resolve({ store, hasher, metrics }: Identity, { tokenSha256 }: ResolveRequest) {
  if (tokenSha256.length !== 32) throw new GatewayError('invalid_request', 'token_sha256 must be 32 bytes.');
  const token = await store.findByHash(hasher.candidates(tokenSha256));
  const result = token === undefined ? 'unknown' : token.revoked_at_ms === null ? 'valid' : 'revoked';
  metrics.resolutions.inc({ result });
  return token !== undefined && result === 'valid' ? { token: toTokenMessage(token) } : {};
}
