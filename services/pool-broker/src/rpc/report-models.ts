import { GatewayError } from '@gateway/errors';
import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../selection/broker.ts';

/** What a pool's provider offers now, or that it can't be reached. */
export function reportModels({ configuration }: Broker): Handlers<typeof PoolBrokerService>['reportModels'] {
  return async ({ pool, reachable, models }) => {
    const { catalog } = configuration;
    if (!catalog.pools.some(({ name }) => name === pool)) {
      throw new GatewayError('invalid_request', 'There is no such pool.');
    }
    await catalog.report(pool, reachable ? models.map(({ id, displayName }) => ({ id, displayName })) : undefined);
    return {};
  };
}
