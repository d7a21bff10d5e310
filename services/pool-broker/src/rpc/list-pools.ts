import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../broker.ts';
import { fromProviderFormat, toProviderFormat } from '../messages/pool-format.ts';

/** The pools of one format, or all, with when their models were last reported on, and how often that is to be. */
export function listPools(broker: Broker): Handlers<typeof PoolBrokerService>['listPools'] {
  return ({ format }) => {
    const { catalog, settings } = broker;
    const wanted = fromProviderFormat(format);
    const pools = catalog.pools.filter((pool) => wanted === undefined || pool.format === wanted);
    return {
      modelListRefreshSeconds: settings.modelListRefreshMs / 1_000,
      pools: pools.map((pool) => {
        const reportedAtMs = catalog.reportedAtMs(pool.name);
        return {
          name: pool.name,
          format: toProviderFormat(pool.format),
          ownedBy: pool.ownedBy,
          modelsReportedAt: reportedAtMs === undefined ? undefined : timestampFromMs(reportedAtMs),
        };
      }),
    };
  };
}
