import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type ServiceRoute, serviceRoute } from '@gateway/rpc';
import { credentialHandlers } from './rpc/credential-service.ts';
import { poolBrokerHandlers } from './rpc/pool-broker-service.ts';
import type { Broker } from './selection/broker.ts';

export function poolBrokerRoute(broker: Broker): ServiceRoute<typeof PoolBrokerService> {
  return serviceRoute(PoolBrokerService, poolBrokerHandlers(broker));
}

/** A service of its own, so that the network can keep it to the adapters. */
export function credentialRoute(broker: Broker): ServiceRoute<typeof CredentialService> {
  return serviceRoute(CredentialService, credentialHandlers(broker));
}
