import {
  CredentialService,
  PoolBrokerService,
  PoolOperatorService,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { serviceRoute, withBoundedTexts } from '@gateway/rpc';
import { credentialHandlers } from './rpc/credential-service.ts';
import { poolBrokerHandlers } from './rpc/pool-broker-service.ts';
import { type PoolOperatorParts, poolOperatorHandlers } from './rpc/pool-operator-service.ts';

export function poolBrokerRoutes(parts: PoolOperatorParts) {
  return {
    routes: [
      serviceRoute(PoolBrokerService, poolBrokerHandlers(parts.broker)),
      withBoundedTexts(serviceRoute(PoolOperatorService, poolOperatorHandlers(parts))),
    ],
    /** Serves secrets on a port of its own, which the network restricts to the adapters. */
    credentialRoutes: [serviceRoute(CredentialService, credentialHandlers(parts.broker))],
  } as const;
}
