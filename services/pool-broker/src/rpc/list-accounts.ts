import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../selection/broker.ts';
import { readAccounts } from '../selection/read-candidates.ts';
import { toAccountMessage } from './messages.ts';

/** Accounts with their health. */
export function listAccounts(broker: Broker): Handlers<typeof PoolBrokerService>['listAccounts'] {
  return async ({ pool }) => {
    const { roster } = broker.configuration;
    const views = await readAccounts(broker, pool === '' ? roster.all : roster.ofPool(pool));
    const nowMs = broker.clock.nowMs();
    return { accounts: views.map((view) => toAccountMessage(view, nowMs)) };
  };
}
