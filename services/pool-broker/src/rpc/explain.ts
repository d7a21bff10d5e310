import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../broker.ts';
import { explainModel } from '../leasing/explain-model.ts';
import { toAccountMessage } from '../messages/account-message.ts';

/** Which account would serve a model now, and why not the others. */
export function explain(broker: Broker): Handlers<typeof PoolBrokerService>['explain'] {
  return async ({ model, affinityKey }) => {
    const explained = await explainModel(broker, model, affinityKey);
    const nowMs = broker.clock.nowMs();
    return {
      candidates: explained.map(({ candidate, accounts }) => ({
        pool: candidate.pool.name,
        model: candidate.model,
        accounts: accounts.map(({ view, chosen, reason }) => ({
          account: toAccountMessage(view, nowMs),
          chosen,
          reason,
        })),
      })),
    };
  };
}
