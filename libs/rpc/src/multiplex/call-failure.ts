import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { fromErrorDetail, type GatewayError, toErrorDetail, toGatewayError } from '@gateway/errors';
import { ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';
import { RpcError } from '../rpc-error.ts';
import { rpcStatusOf, statusNumber, statusNumberOf } from '../status-number.ts';
import { ProtocolViolation } from './frames.ts';

/** A failed call as it travels: the status and text that plain gRPC would have, and the detail of a GatewayError. */
export interface CallFailure {
  readonly status: number;
  readonly text: string;
  /** A gateway.error.v1.ErrorDetail; empty when the call failed on its way. */
  readonly detail: Uint8Array;
}

/** Anything that a handler throws. */
export function toCallFailure(thrown: unknown): CallFailure {
  if (thrown instanceof RpcError) return { status: statusNumberOf(thrown), text: thrown.message, detail: noDetail };
  const error = toGatewayError(thrown);
  const detail = toBinary(ErrorDetailSchema, toErrorDetail(error));
  return { status: statusNumberOf(error), text: error.message, detail };
}

export function unimplemented(path: string): CallFailure {
  return {
    status: statusNumber.UNIMPLEMENTED,
    text: `The server does not implement the method ${path}`,
    detail: noDetail,
  };
}

/** What a failure means to the caller. */
export function fromCallFailure({ status, text, detail }: CallFailure): GatewayError | RpcError {
  if (detail.length > 0) return fromErrorDetail(fromBinary(ErrorDetailSchema, detail));
  return new RpcError(rpcStatusOf(status), text);
}

export function encodeFailure({ status, text, detail }: CallFailure): Buffer {
  const words = Buffer.from(text);
  const header = Buffer.allocUnsafe(5);
  header[0] = status;
  header.writeUInt32BE(words.length, 1);
  return Buffer.concat([header, words, detail]);
}

export function decodeFailure(payload: Buffer): CallFailure {
  const detailAt = payload.length < 5 ? Number.POSITIVE_INFINITY : 5 + payload.readUInt32BE(1);
  if (detailAt > payload.length) throw new ProtocolViolation('a failure is cut short');
  return {
    status: payload.readUInt8(0),
    text: payload.toString('utf8', 5, detailAt),
    detail: payload.subarray(detailAt),
  };
}

const noDetail = new Uint8Array(0);
