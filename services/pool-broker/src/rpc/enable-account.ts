import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { withoutRefusals } from '../health/account-health.ts';
import type { Broker } from '../selection/broker.ts';

/** Gives an account another chance, whatever its provider or its token endpoint said of it. */
export function enableAccount(broker: Broker): Handlers<typeof PoolBrokerService>['enableAccount'] {
  return async ({ accountId }) => {
    const account = broker.configuration.roster.byId(accountId);
    if (account === undefined) return { known: false };
    await broker.credentials.forgetProblem(account);
    await broker.store.changeHealth(accountId, withoutRefusals);
    return { known: true };
  };
}
