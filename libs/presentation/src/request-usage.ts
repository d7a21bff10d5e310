import type { Usage } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import {
  type RecordedAttempt,
  RequestEnding,
  type RequestRecorded,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';

/** An attempt with the usage and the cost of its request. */
export type UsedAttempt = RecordedAttempt & { readonly usage: Usage };

/** The attempt whose usage is that of the request. Undefined: nothing was used. */
export function usedBy({ attempts }: Pick<RequestRecorded, 'attempts'>): UsedAttempt | undefined {
  return attempts.findLast((attempt): attempt is UsedAttempt => attempt.usage !== undefined);
}

/** What the ledger keeps of an ending. */
export function outcomeOf({ ending }: Pick<RequestRecorded, 'ending'>): Outcome {
  if (ending === RequestEnding.COMPLETED) return 'completed';
  if (ending === RequestEnding.ABORTED) return 'aborted';
  return ending === RequestEnding.UNSPECIFIED ? 'lost' : 'failed';
}

export type Outcome = 'completed' | 'aborted' | 'failed' | 'lost';
