import { GroupService, IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { PersonService, SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import { type GroupParts, groupHandlers } from './rpc/group-service.ts';
import { type IdentityParts, identityHandlers } from './rpc/identity-service.ts';
import { type PersonParts, personHandlers } from './rpc/person-service.ts';
import { type SignInParts, signInHandlers } from './rpc/sign-in-service.ts';

export function identityRoute(parts: IdentityParts) {
  return serviceRoute(IdentityService, identityHandlers(parts));
}

export function groupRoute(parts: GroupParts) {
  return serviceRoute(GroupService, groupHandlers(parts));
}

export function personRoutes(parts: SignInParts & PersonParts) {
  return [serviceRoute(SignInService, signInHandlers(parts)), serviceRoute(PersonService, personHandlers(parts))];
}
