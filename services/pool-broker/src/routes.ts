import {
  CredentialService,
  PoolBrokerService,
  PoolOperatorService,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import { credentialHandlers } from './rpc/credential-service.ts';
import { poolBrokerHandlers } from './rpc/pool-broker-service.ts';
import { type PoolOperatorParts, poolOperatorHandlers } from './rpc/pool-operator-service.ts';
import type { Broker } from './selection/broker.ts';

export function poolBrokerRoute(broker: Broker) {
  return serviceRoute(PoolBrokerService, poolBrokerHandlers(broker));
}

export function poolOperatorRoute(parts: PoolOperatorParts) {
  return serviceRoute(PoolOperatorService, poolOperatorHandlers(parts));
}

/** Secrets, which the network keeps to the adapters: they are served on a port of their own. */
export function credentialRoute(broker: Broker) {
  return serviceRoute(CredentialService, credentialHandlers(broker));
}
