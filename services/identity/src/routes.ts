import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import { type IdentityParts, identityHandlers } from './rpc/identity-service.ts';

export function identityRoute(parts: IdentityParts) {
  return serviceRoute(IdentityService, identityHandlers(parts));
}
