import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../selection/broker.ts';
import { callerOfLease } from '../store/lease-id.ts';

/** Leases whose requests still go on. Those of accounts that are no longer configured have nothing to keep. */
export function renewLeases({ configuration, store }: Broker): Handlers<typeof PoolBrokerService>['renewLeases'] {
  return async ({ renewals }) => {
    const { roster, settings } = configuration;
    const { leaseTtlMs } = settings;
    const known = renewals.filter(({ accountId }) => roster.byId(accountId) !== undefined);
    await Promise.all(
      known.map(({ leaseId, accountId, pool, model }) =>
        store.renewLease({ leaseId, accountId, pool, model, caller: callerOfLease(leaseId), leaseTtlMs }),
      ),
    );
    return {};
  };
}
