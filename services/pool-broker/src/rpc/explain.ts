import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../selection/broker.ts';
import { explainModel } from '../selection/explain-model.ts';
import { toAccountMessage } from './messages.ts';

/** Which account would serve a model now, and why not the others. */
export function explain(broker: Broker): Handlers<typeof PoolBrokerService>['explain'] {
  return async ({ model, affinityKey }) => {
    const explained = await explainModel(broker, model, affinityKey);
    const nowMs = broker.clock.nowMs();
    return {
      candidates: explained.map(({ candidate, accounts }) => ({
        pool: candidate.pool.name,
        model: candidate.model,
        accounts: accounts.map(({ view, ...choice }) => ({ account: toAccountMessage(view, nowMs), ...choice })),
      })),
    };
  };
}
