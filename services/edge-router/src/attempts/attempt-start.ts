import { create } from '@bufbuild/protobuf';
import { fromErrorDetail, GatewayError } from '@gateway/errors';
import type { ExecuteOutcome, UpstreamAnswer } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type AttemptOutcome, AttemptOutcomeSchema, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { RpcError } from '@gateway/rpc';

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
  readonly outcome: AttemptOutcome;
  /** What the client is told when no further attempt is made. */
  readonly error: GatewayError;
  /** The provider's own answer, for endpoints that pass it on. */
  readonly upstreamAnswer: UpstreamAnswer | undefined;
  /** What the provider refused, when the request was sent to it once more without that. Absent or empty: it was sent once. */
  readonly amended?: string;
}

/** The failure that an adapter told. */
export function failedAttempt(outcome: ExecuteOutcome | undefined): FailedAttempt {
  return {
    kind: 'failed',
    outcome: outcome?.attempt ?? attemptOutcome(AttemptResult.SERVER_ERROR),
    error: outcome?.error === undefined ? unavailable('The provider failed.') : fromErrorDetail(outcome.error),
    upstreamAnswer: outcome?.upstreamAnswer,
    amended: outcome?.amended ?? '',
  };
}

/** The call never reached its adapter, or lost it, and nobody asked for that. */
export function adapterAway(cause: RpcError): AdapterAway {
  const isGone = cause.status === 'unavailable';
  return { kind: 'adapter_away', isGone, error: unavailable('The provider could not be reached.', cause) };
}

/** An outcome of which no more is known than its result. */
export function attemptOutcome(result: AttemptResult): AttemptOutcome {
  return create(AttemptOutcomeSchema, { result });
}

/** Says nothing of the account. One for all: nobody changes a message. */
export const cancelledOutcome = attemptOutcome(AttemptResult.CANCELLED);

function unavailable(message: string, cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', message, { cause });
}
