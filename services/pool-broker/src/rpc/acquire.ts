import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { SkippedAccounts } from '@gateway/proto/pool/v1/account_pb.js';
import {
  type AcquireResponse,
  type PoolBrokerService,
  PoolExhaustedSchema,
  UnknownModelSchema,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Broker } from '../broker.ts';
import { acquireLease } from '../leasing/acquire-lease.ts';
import type { Lease, LeaseResult } from '../leasing/lease-search.ts';
import { settleAttempt } from '../leasing/settle-attempt.ts';
import { fromAttemptMessage } from '../messages/attempt-message.ts';
import { toLeaseMessage } from '../messages/lease-message.ts';
import { fromProviderFormats } from '../messages/pool-format.ts';
import type { SkippedGroup } from '../selection/choice-text.ts';

/** The account for a request's next attempt, or why there is none. At once, where the store answers at once. */
export function acquire(broker: Broker): Handlers<typeof PoolBrokerService>['acquire'] {
  return (request, context) => {
    const acquiring = acquireLease(broker, {
      model: request.model,
      formats: fromProviderFormats(request.formats),
      affinityKey: request.affinityKey,
      attempts: request.attempts.map(fromAttemptMessage).filter((attempt) => attempt !== undefined),
      allowCandidateFailover: request.allowCandidateFailover,
      caller: request.caller,
    });
    if (!(acquiring instanceof Promise)) return toAnswer(acquiring, broker);
    return acquiring.then(async (result) => {
      // Who has gone, or has given this broker up, would never report on it: its place would be lost until the lease ends.
      if (result.kind === 'leased' && context.signal.aborted) await takeBack(broker, result.lease);
      return toAnswer(result, broker);
    });
  };
}

function toAnswer(result: LeaseResult, broker: Broker): AcquireResponse {
  const { reason, skipped } = result.choice;
  return {
    $typeName: 'gateway.pool.v1.AcquireResponse',
    result: toResult(result, broker),
    reason,
    skipped: skipped.map(toSkippedMessage),
  };
}

async function takeBack(broker: Broker, { leaseId, accountId, candidate: { pool, model } }: Lease): Promise<void> {
  await settleAttempt(broker, { leaseId, accountId, pool: pool.name, model, outcome: unused }, '');
}

const unused = { result: 'cancelled', retryAtMs: undefined, modelScoped: false, windows: [] } as const;

function toSkippedMessage(group: SkippedGroup): SkippedAccounts {
  return { $typeName: 'gateway.pool.v1.SkippedAccounts', ...group };
}

// Whole messages, named as such: they need not be completed from their fields.
function toResult(result: LeaseResult, { settings }: Broker): AcquireResponse['result'] {
  switch (result.kind) {
    case 'leased':
      return { case: 'lease', value: toLeaseMessage(result.lease, settings.leaseTtlMs) };
    case 'exhausted':
      return { case: 'exhausted', value: create(PoolExhaustedSchema, { retryAt: toTimestamp(result.retryAtMs) }) };
    case 'unavailable':
      return { case: 'unavailable', value: { $typeName: 'gateway.pool.v1.PoolUnavailable' } };
    case 'unknown_model':
      return { case: 'unknownModel', value: create(UnknownModelSchema, { otherFormatsOnly: result.otherFormatsOnly }) };
    default:
      return result satisfies never;
  }
}

function toTimestamp(epochMs: number | undefined) {
  return epochMs === undefined ? undefined : timestampFromMs(epochMs);
}
