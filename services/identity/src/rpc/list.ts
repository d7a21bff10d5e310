import type { ListRequest } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Identity } from '../identity.ts';
import { toTokenMessage } from '../messages/token-message.ts';

/** All tokens, newest first. */
export async function list({ store }: Identity, { includeRevoked }: ListRequest) {
  const tokens = await store.list({ includeRevoked });
  return { tokens: tokens.map(toTokenMessage) };
}
