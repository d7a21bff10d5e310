import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { PoolFormat } from '@gateway/config';
import type { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import type { AcquireResponseSchema, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../broker.ts';
import { acquireLease, type Lease, type LeaseResult } from '../leasing/acquire-lease.ts';
import { settleAttempt } from '../leasing/settle-attempt.ts';
import { fromAttemptMessage } from '../messages/attempt-message.ts';
import { toLeaseMessage } from '../messages/lease-message.ts';
import { fromProviderFormat } from '../messages/pool-format.ts';

/** The account for a request's next attempt, or why there is none. */
export function acquire(broker: Broker): Handlers<typeof PoolBrokerService>['acquire'] {
  return async (request, { signal }) => {
    const result = await acquireLease(broker, {
      model: request.model,
      formats: readFormats(request.formats),
      affinityKey: request.affinityKey,
      attempts: request.attempts.map(fromAttemptMessage).filter((attempt) => attempt !== undefined),
      allowCandidateFailover: request.allowCandidateFailover,
      caller: request.caller,
    });
    // Who has gone, or has given this broker up, would never report on it: its place would be lost until the lease ends.
    if (result.kind === 'leased' && signal.aborted) await takeBack(broker, result.lease);
    const { reason, skipped } = result.choice;
    return { result: toResult(result), reason, skipped: [...skipped] };
  };
}

async function takeBack(broker: Broker, { leaseId, accountId, candidate: { pool, model } }: Lease): Promise<void> {
  await settleAttempt(broker, { leaseId, accountId, pool: pool.name, model, outcome: unused }, '');
}

const unused = { result: 'cancelled', retryAtMs: undefined, modelScoped: false, windows: [] } as const;

function toResult(result: LeaseResult): MessageInitShape<typeof AcquireResponseSchema>['result'] {
  switch (result.kind) {
    case 'leased':
      return { case: 'lease', value: toLeaseMessage(result.lease) };
    case 'exhausted':
      return { case: 'exhausted', value: { retryAt: toTimestamp(result.retryAtMs) } };
    case 'unavailable':
      return { case: 'unavailable', value: {} };
    case 'unknown_model':
      return { case: 'unknownModel', value: {} };
    default:
      return result satisfies never;
  }
}

function readFormats(formats: readonly ProviderFormat[]): ReadonlySet<PoolFormat> {
  return new Set(formats.map(fromProviderFormat).filter((format) => format !== undefined));
}

function toTimestamp(epochMs: number | undefined) {
  return epochMs === undefined ? undefined : timestampFromMs(epochMs);
}
