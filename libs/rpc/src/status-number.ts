import type { GatewayError, GatewayErrorCode } from '@gateway/errors';
import { RpcError, type RpcStatus } from './rpc-error.ts';

/** The number of a failure in gRPC's table of statuses, which Connect's codes share. */
export function statusNumberOf(error: GatewayError | RpcError): number {
  return error instanceof RpcError ? numberOfRpcStatus[error.status] : numberOfCode[error.code];
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

/** What a status says of a call that failed on its way. */
export function rpcStatusOf(status: number): RpcStatus {
  if (status === statusNumber.UNAVAILABLE) return 'unavailable';
  if (status === statusNumber.DEADLINE_EXCEEDED) return 'deadline_exceeded';
  if (status === statusNumber.CANCELLED) return 'cancelled';
  return 'internal';
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
