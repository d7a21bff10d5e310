import type { MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayError } from '@gateway/errors';
import type { UpstreamAnswer } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { AttemptOutcomeSchema } from '@gateway/proto/pool/v1/account_pb.js';

/** How an attempt began: with an answer, or with a failure that leaves all open. */
export type AttemptStart<T> = { readonly kind: 'answering'; readonly value: T } | FailedAttempt | AdapterAway;

/** The adapter itself could not be reached: no other account of its format can help. */
export interface AdapterAway {
  readonly kind: 'adapter_away';
  /** True when the connection to it broke or could not be made, so that another replica of it may serve. */
  readonly isGone: boolean;
  readonly error: GatewayError;
}

export interface FailedAttempt {
  readonly kind: 'failed';
  readonly outcome: MessageInitShape<typeof AttemptOutcomeSchema>;
  /** What the client is told when no further attempt is made. */
  readonly error: GatewayError;
  /** The provider's own answer, for endpoints that pass it on. */
  readonly upstreamAnswer: UpstreamAnswer | undefined;
  /** What the provider refused, when the request was sent to it once more without that. Absent or empty: it was sent once. */
  readonly amended?: string;
}
