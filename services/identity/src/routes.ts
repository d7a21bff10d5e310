import { GroupService, IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import { type GroupParts, groupHandlers } from './rpc/group-service.ts';
import { type IdentityParts, identityHandlers } from './rpc/identity-service.ts';

export function identityRoute(parts: IdentityParts) {
  return serviceRoute(IdentityService, identityHandlers(parts));
}

export function groupRoute(parts: GroupParts) {
  return serviceRoute(GroupService, groupHandlers(parts));
}
