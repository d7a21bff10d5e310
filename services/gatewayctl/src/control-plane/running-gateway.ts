import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { connectClient } from '@gateway/rpc/connect-client';
import type { ControlPlane } from './control-plane.ts';

/** A gateway that runs, reached over its admin port. */
export function openRunningGateway(adminUrl: string): ControlPlane {
  return {
    database: undefined,
    identity: connectClient(IdentityService, adminUrl),
    broker: connectClient(PoolBrokerService, adminUrl),
    async [Symbol.asyncDispose]() {},
  };
}
