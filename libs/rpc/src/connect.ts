import { ConnectError } from '@connectrpc/connect';
import { toErrorDetail, toGatewayError } from '@gateway/errors';
import { ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';
import { codeOf, RpcError } from './errors.ts';

/** What a call of the Connect protocol fails with when its handler throws: nothing of a fault of ours is in it. */
export function toConnectError(thrown: unknown): ConnectError {
  const error = thrown instanceof RpcError ? thrown : toGatewayError(thrown);
  const details = error instanceof RpcError ? [] : [{ desc: ErrorDetailSchema, value: toErrorDetail(error) }];
  return new ConnectError(error.message, codeOf(error), undefined, details, thrown);
}
