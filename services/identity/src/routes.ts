import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import type { Identity } from './identity.ts';
import { issue } from './rpc/issue.ts';
import { list } from './rpc/list.ts';
import { resolve } from './rpc/resolve.ts';
import { revoke } from './rpc/revoke.ts';
import { setLimits } from './rpc/set-limits.ts';
import { watchChanges } from './rpc/watch-changes.ts';

export function identityRoute(identity: Identity) {
  return serviceRoute(IdentityService, {
    resolve: (request) => resolve(identity, request),
    issue: (request) => issue(identity, request),
    revoke: (request) => revoke(identity, request),
    setLimits: (request) => setLimits(identity, request),
    list: (request) => list(identity, request),
    watchChanges: (_request, context) => watchChanges(identity, context),
  });
}
