import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import {
  fromErrorDetail,
  GatewayError,
  type GatewayErrorCode,
  isNoAnswer,
  toErrorDetail,
  toGatewayError,
} from '@gateway/errors';
import { ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';
import type { Failure } from '@gateway/proto/rpc/v2/multiplex_service_pb.js';

export type RpcStatus = keyof typeof codes;

/**
 * A call that failed without an answer from the service: unreachable, too late, cancelled by the
 * caller, or refused. An error that the service answers with is a GatewayError instead.
 */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly status: RpcStatus;

  constructor(status: RpcStatus, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.status = status;
  }
}

export function callCancelled(): RpcError {
  return new RpcError('cancelled', 'The caller cancelled the call.');
}

export function deadlineExceeded(timeoutMs: number | undefined): RpcError {
  return new RpcError('deadline_exceeded', `The call took longer than ${timeoutMs} ms.`);
}

/** The reason of a handler's signal when the call is over. */
export const callEnded = new RpcError('cancelled', 'The call has ended.');

/**
 * Converts anything that a handler throws to a failure that plain gRPC and shared streams can
 * carry.
 */
export function toCallFailure(thrown: unknown): Failure {
  if (thrown instanceof RpcError) return { $typeName, status: codeOf(thrown), message: thrown.message };
  if (isNoAnswer(thrown)) return { $typeName, status: Code.Unavailable, message: 'A backend does not answer.' };
  const error = toGatewayError(thrown);
  const detail = toBinary(ErrorDetailSchema, toErrorDetail(error));
  return { $typeName, status: codeOf(error), message: error.message, detail };
}

/**
 * Converts a failure for the caller: the service's own error, or RpcError when the service did not
 * answer.
 */
export function fromCallFailure({ status, message, detail }: Failure): GatewayError | RpcError {
  if (detail !== undefined) return fromErrorDetail(fromBinary(ErrorDetailSchema, detail));
  const statuses = Object.keys(codes) as RpcStatus[];
  return new RpcError(statuses.find((known) => codes[known] === status) ?? 'internal', message);
}

/** The status code of a failure in gRPC's table, which Connect's codes share. */
export function codeOf(error: GatewayError | RpcError): Code {
  return error instanceof RpcError ? codes[error.status] : codesOfErrors[error.code];
}

/**
 * Whether a call failed for want of time, of room or of a peer, so that the same call may succeed
 * later. Otherwise it failed by a fault, or was answered.
 */
export function isNotNow(thrown: unknown): boolean {
  return thrown instanceof RpcError ? notNow[thrown.status] : isNoAnswer(thrown);
}

/**
 * Receives every internal error of a handler, with the request's id where the call's single request
 * contains it.
 */
export type OnFault = (method: string, fault: unknown, requestId: string | undefined) => void;

/**
 * Whether a failure is an internal error: neither in the public table of errors nor a failure of
 * transport.
 */
export function isFault(thrown: unknown): boolean {
  if (thrown instanceof RpcError) return false;
  return !(thrown instanceof GatewayError) || thrown.code === 'internal_error';
}

/** The id of the client's request that a call is part of. */
export function requestIdOf(request: object | undefined): string | undefined {
  if (request === undefined || !('requestId' in request)) return undefined;
  return typeof request.requestId === 'string' && request.requestId !== '' ? request.requestId : undefined;
}

const $typeName = 'gateway.rpc.v2.Failure';

const codes = {
  unavailable: Code.Unavailable,
  deadline_exceeded: Code.DeadlineExceeded,
  cancelled: Code.Canceled,
  resource_exhausted: Code.ResourceExhausted,
  aborted: Code.Aborted,
  permission_denied: Code.PermissionDenied,
  internal: Code.Internal,
} as const;

const notNow: Readonly<Record<RpcStatus, boolean>> = {
  unavailable: true,
  deadline_exceeded: true,
  cancelled: true,
  resource_exhausted: true,
  aborted: true,
  permission_denied: false,
  internal: false,
};

const codesOfErrors: Readonly<Record<GatewayErrorCode, Code>> = {
  invalid_request: Code.InvalidArgument,
  invalid_json: Code.InvalidArgument,
  invalid_body: Code.InvalidArgument,
  unsupported_content: Code.InvalidArgument,
  upstream_rejected: Code.FailedPrecondition,
  unauthorized: Code.Unauthenticated,
  model_not_found: Code.NotFound,
  not_found: Code.NotFound,
  method_not_allowed: Code.Unimplemented,
  body_too_large: Code.OutOfRange,
  unsupported_encoding: Code.InvalidArgument,
  rate_limit_exceeded: Code.ResourceExhausted,
  pool_exhausted: Code.ResourceExhausted,
  providers_unavailable: Code.Unavailable,
  subscription_unavailable: Code.Unavailable,
  internal_error: Code.Internal,
};
