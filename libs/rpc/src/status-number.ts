import type { GatewayError, GatewayErrorCode } from '@gateway/errors';
import { RpcError, type RpcStatus } from './rpc-error.ts';

/** The number of a failure in gRPC's table of statuses, which Connect's codes share. */
export function statusNumberOf(error: GatewayError | RpcError): number {
  return error instanceof RpcError ? numberOfRpcStatus[error.status] : numberOfCode[error.code];
}

/** @see https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
const status = {
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

const numberOfRpcStatus: Record<RpcStatus, number> = {
  unavailable: status.UNAVAILABLE,
  deadline_exceeded: status.DEADLINE_EXCEEDED,
  cancelled: status.CANCELLED,
  internal: status.INTERNAL,
};

const numberOfCode: Record<GatewayErrorCode, number> = {
  invalid_request: status.INVALID_ARGUMENT,
  invalid_json: status.INVALID_ARGUMENT,
  invalid_body: status.INVALID_ARGUMENT,
  unsupported_content: status.INVALID_ARGUMENT,
  upstream_rejected: status.FAILED_PRECONDITION,
  unauthorized: status.UNAUTHENTICATED,
  model_not_found: status.NOT_FOUND,
  not_found: status.NOT_FOUND,
  method_not_allowed: status.UNIMPLEMENTED,
  body_too_large: status.OUT_OF_RANGE,
  unsupported_encoding: status.INVALID_ARGUMENT,
  rate_limit_exceeded: status.RESOURCE_EXHAUSTED,
  pool_exhausted: status.RESOURCE_EXHAUSTED,
  providers_unavailable: status.UNAVAILABLE,
  subscription_unavailable: status.UNAVAILABLE,
  internal_error: status.INTERNAL,
};
