import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../selection/broker.ts';
import { fromProviderFormat, toProviderFormat, toTimestamp } from './messages.ts';

/** The pools of one format, or all, with when their models were last reported on, and how often that is to be. */
export function listPools({ configuration }: Broker): Handlers<typeof PoolBrokerService>['listPools'] {
  return ({ format }) => {
    const { catalog, settings } = configuration;
    const wanted = fromProviderFormat(format);
    const pools = catalog.pools.filter((pool) => wanted === undefined || pool.format === wanted);
    return {
      modelListRefreshSeconds: settings.modelListRefreshMs / 1_000,
      pools: pools.map(({ name, format, ownedBy }) => ({
        ...{ name, ownedBy, format: toProviderFormat(format) },
        modelsReportedAt: toTimestamp(catalog.reportedAtMs(name)),
      })),
    };
  };
}
