import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../selection/broker.ts';
import { settleAttempt } from '../selection/settle-attempt.ts';
import { fromAttemptMessage } from './messages.ts';

/** How a request's last attempt ended. */
export function report(broker: Broker): Handlers<typeof PoolBrokerService>['report'] {
  return async ({ attempt: message, affinityKey, answerKeys }) => {
    const attempt = message === undefined ? undefined : fromAttemptMessage(message);
    if (attempt !== undefined) await settleAttempt(broker, attempt, affinityKey, answerKeys);
    return {};
  };
}
