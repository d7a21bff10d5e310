import type { PoolBrokerService, ReportResponse } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../broker.ts';
import { settleAttempt } from '../leasing/settle-attempt.ts';
import { fromAttemptMessage } from '../messages/attempt-message.ts';

/** How a request's last attempt ended. */
export function report(broker: Broker): Handlers<typeof PoolBrokerService>['report'] {
  return async ({ attempt: message, affinityKey, answerKeys }) => {
    const attempt = message === undefined ? undefined : fromAttemptMessage(message);
    if (attempt !== undefined) await settleAttempt(broker, attempt, affinityKey, answerKeys);
    return reported;
  };
}

const reported: ReportResponse = { $typeName: 'gateway.pool.v1.ReportResponse' };
