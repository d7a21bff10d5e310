import type { MessageInitShape } from '@bufbuild/protobuf';
import type { AcquireResponseSchema, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { acquireLease, type Lease, type LeaseResult } from '../selection/acquire-lease.ts';
import type { Broker } from '../selection/broker.ts';
import { settleAttempt } from '../selection/settle-attempt.ts';
import { fromAttemptMessage, fromProviderFormat, toLeaseMessage, toTimestamp } from './messages.ts';

/** The account for a request's next attempt, or why there is none. */
export function acquire(broker: Broker): Handlers<typeof PoolBrokerService>['acquire'] {
  return async ({ model, formats, affinityKey, attempts, allowCandidateFailover, caller }, { signal }) => {
    const result = await acquireLease(broker, {
      ...{ model, affinityKey, allowCandidateFailover, caller },
      formats: new Set(formats.map(fromProviderFormat).filter((format) => format !== undefined)),
      attempts: attempts.map(fromAttemptMessage).filter((attempt) => attempt !== undefined),
    });
    // A caller that has gone would never report on its lease, whose place would be lost until it expires.
    if (result.kind === 'leased' && signal.aborted) await takeBack(broker, result.lease);
    return { result: toResult(result, broker), reason: result.reason, skipped: [...result.skipped] };
  };
}

async function takeBack(broker: Broker, { leaseId, accountId, candidate: { pool, model } }: Lease): Promise<void> {
  await settleAttempt(broker, { leaseId, accountId, pool: pool.name, model, outcome: unused }, '');
}

const unused = { result: 'cancelled', retryAtMs: undefined, modelScoped: false, windows: [] } as const;

function toResult(
  result: LeaseResult,
  { configuration: { settings } }: Broker,
): MessageInitShape<typeof AcquireResponseSchema>['result'] {
  switch (result.kind) {
    case 'leased':
      return { case: 'lease', value: toLeaseMessage(result.lease, settings.leaseTtlMs) };
    case 'exhausted':
      return { case: 'exhausted', value: { retryAt: toTimestamp(result.retryAtMs) } };
    case 'unavailable':
      return { case: 'unavailable', value: {} };
    case 'unknown_model':
      return { case: 'unknownModel', value: { otherFormatsOnly: result.otherFormatsOnly } };
    default:
      return result satisfies never;
  }
}
