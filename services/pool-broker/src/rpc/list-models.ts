import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../selection/broker.ts';

/** The models that clients may name, in the order of the public listing. */
export function listModels({ configuration }: Broker): Handlers<typeof PoolBrokerService>['listModels'] {
  return () => ({ models: [...configuration.catalog.listing()] });
}
