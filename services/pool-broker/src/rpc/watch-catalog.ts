import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../selection/broker.ts';

/** The public listing now and whenever it changes, until the caller leaves or the broker drains. */
export function watchCatalog({ configuration, draining }: Broker): Handlers<typeof PoolBrokerService>['watchCatalog'] {
  return async function* (_request, { signal }) {
    const until = AbortSignal.any([signal, draining]);
    for await (const listing of configuration.catalog.watch(until)) yield { models: [...listing] };
  };
}
