import type { PoolBrokerService, ReportResponse } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../broker.ts';
import { settleAttempt } from '../leasing/settle-attempt.ts';
import { fromAttemptMessage } from '../messages/attempt-message.ts';
import { whenThere } from '../store/awaitable.ts';

/** How a request's last attempt ended. At once, where the store answers at once. */
export function report(broker: Broker): Handlers<typeof PoolBrokerService>['report'] {
  return ({ attempt: message, affinityKey, answerKeys }) => {
    const attempt = message === undefined ? undefined : fromAttemptMessage(message);
    if (attempt === undefined) return reported;
    return whenThere(settleAttempt(broker, attempt, affinityKey, answerKeys), () => reported);
  };
}

const reported: ReportResponse = { $typeName: 'gateway.pool.v1.ReportResponse' };
