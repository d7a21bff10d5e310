import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import { credentialHandlers } from './rpc/credential-service.ts';
import { poolBrokerHandlers } from './rpc/pool-broker-service.ts';
import type { Broker } from './selection/broker.ts';

/** Credentials are a service of its own, so that the network can keep it to the adapters. */
export function routesOf(broker: Broker) {
  const poolBroker = serviceRoute(PoolBrokerService, poolBrokerHandlers(broker));
  return [poolBroker, serviceRoute(CredentialService, credentialHandlers(broker))] as const;
}
