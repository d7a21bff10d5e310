import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { fromErrorDetail, type GatewayError, toErrorDetail, toGatewayError } from '@gateway/errors';
import { ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';
import { Metadata, type ServiceError } from '@grpc/grpc-js';
import { RpcError } from './rpc-error.ts';
import { rpcStatusOf, statusNumberOf } from './status-number.ts';

/** Trailer that carries a gateway.error.v1.ErrorDetail in binary form. */
export const errorDetailTrailer = 'gateway-error-bin';

/** A failure of a handler as gRPC knows it: a status, a text for people, and the detail in a trailer. */
export function toServiceError(thrown: unknown): Partial<ServiceError> {
  if (thrown instanceof RpcError) return { code: statusNumberOf(thrown), details: thrown.message };
  const error = toGatewayError(thrown);
  const metadata = new Metadata();
  metadata.set(errorDetailTrailer, Buffer.from(toBinary(ErrorDetailSchema, toErrorDetail(error))));
  return { code: statusNumberOf(error), details: error.message, metadata };
}

/** What a failed call means to its caller: the service's own error, or RpcError when no answer came. */
export function fromServiceError(thrown: unknown): GatewayError | RpcError {
  if (!isServiceError(thrown)) return new RpcError('internal', 'The call failed.', { cause: thrown });
  const [detail] = thrown.metadata?.get(errorDetailTrailer) ?? [];
  if (detail instanceof Buffer) return fromErrorDetail(fromBinary(ErrorDetailSchema, detail));
  return new RpcError(rpcStatusOf(thrown.code), thrown.details, { cause: thrown });
}

function isServiceError(thrown: unknown): thrown is ServiceError {
  return thrown instanceof Error && 'code' in thrown && 'details' in thrown;
}
