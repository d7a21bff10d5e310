import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { fromErrorDetail, GatewayError, type GatewayErrorCode, toErrorDetail, toGatewayError } from '@gateway/errors';
import { ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';

export type RpcStatus = 'unavailable' | 'deadline_exceeded' | 'cancelled' | 'internal';

/**
 * A call that failed on its way, with no answer from the service: not reachable, too late, or cancelled by the caller.
 * What a service answers as an error arrives as GatewayError instead.
 */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly status: RpcStatus;

  constructor(status: RpcStatus, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.status = status;
  }
}

/** A failed call as it travels: the same over plain gRPC, on a shared stream, and in Connect's codes. */
export interface CallFailure {
  /** A number of gRPC's table of statuses. */
  readonly status: number;
  readonly message: string;
  /** A gateway.error.v1.ErrorDetail in binary form; absent when the call failed on its way. */
  readonly detail?: Uint8Array | undefined;
}

/** @see https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
export const statusNumber = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

/** Anything that a handler throws. */
export function toCallFailure(thrown: unknown): CallFailure {
  if (thrown instanceof RpcError) return { status: statusNumberOf(thrown), message: thrown.message };
  const error = toGatewayError(thrown);
  const detail = toBinary(ErrorDetailSchema, toErrorDetail(error));
  return { status: statusNumberOf(error), message: error.message, detail };
}

/** What a failure means to the caller: the service's own error, or RpcError when it did not answer. */
export function fromCallFailure({ status, message, detail }: CallFailure): GatewayError | RpcError {
  if (detail !== undefined) return fromErrorDetail(fromBinary(ErrorDetailSchema, detail));
  return new RpcError(rpcStatusOf(status), message);
}

/** The number of a failure in gRPC's table of statuses, which Connect's codes share. */
export function statusNumberOf(error: GatewayError | RpcError): number {
  return error instanceof RpcError ? numberOfRpcStatus[error.status] : numberOfCode[error.code];
}

/** What a status says of a call that failed on its way. */
export function rpcStatusOf(status: number): RpcStatus {
  if (status === statusNumber.UNAVAILABLE) return 'unavailable';
  if (status === statusNumber.DEADLINE_EXCEEDED) return 'deadline_exceeded';
  if (status === statusNumber.CANCELLED) return 'cancelled';
  return 'internal';
}

/** Receives every failure of a handler that is a fault of ours, with the request's id where the call's one request has it. */
export type OnFault = (method: string, fault: unknown, requestId: string | undefined) => void;

/** Whether a failure is our own: neither an answer of the public table nor something that happened on the way. */
export function isFault(thrown: unknown): boolean {
  if (thrown instanceof RpcError) return false;
  return !(thrown instanceof GatewayError) || thrown.code === 'internal_error';
}

/** The id of the client's request that a call is part of. */
export function requestIdOf(request: object | undefined): string | undefined {
  if (request === undefined || !('requestId' in request)) return undefined;
  return typeof request.requestId === 'string' && request.requestId !== '' ? request.requestId : undefined;
}

const numberOfRpcStatus: Record<RpcStatus, number> = {
  unavailable: statusNumber.UNAVAILABLE,
  deadline_exceeded: statusNumber.DEADLINE_EXCEEDED,
  cancelled: statusNumber.CANCELLED,
  internal: statusNumber.INTERNAL,
};

const numberOfCode: Record<GatewayErrorCode, number> = {
  invalid_request: statusNumber.INVALID_ARGUMENT,
  invalid_json: statusNumber.INVALID_ARGUMENT,
  invalid_body: statusNumber.INVALID_ARGUMENT,
  unsupported_content: statusNumber.INVALID_ARGUMENT,
  upstream_rejected: statusNumber.FAILED_PRECONDITION,
  unauthorized: statusNumber.UNAUTHENTICATED,
  model_not_found: statusNumber.NOT_FOUND,
  not_found: statusNumber.NOT_FOUND,
  method_not_allowed: statusNumber.UNIMPLEMENTED,
  body_too_large: statusNumber.OUT_OF_RANGE,
  unsupported_encoding: statusNumber.INVALID_ARGUMENT,
  rate_limit_exceeded: statusNumber.RESOURCE_EXHAUSTED,
  pool_exhausted: statusNumber.RESOURCE_EXHAUSTED,
  providers_unavailable: statusNumber.UNAVAILABLE,
  subscription_unavailable: statusNumber.UNAVAILABLE,
  internal_error: statusNumber.INTERNAL,
};
