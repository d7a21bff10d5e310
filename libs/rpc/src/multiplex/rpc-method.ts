import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { grpcMethod } from '../grpc-definition.ts';
import { takesOneRequest } from '../handler-of.ts';
import { partsEncoder } from '../wire/message-encoder.ts';
import type { MessageBytes } from '../wire/message-in-parts.ts';

/** One RPC with the ways to write and read its messages. */
export interface RpcMethod {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly name: string;
  readonly takesOneRequest: boolean;
  /** Long bytes in the request are not copied: they must not change before it has left. */
  readonly encodeRequest: (request: object) => MessageBytes;
  readonly decodeRequest: (bytes: Uint8Array) => object;
  readonly encodeResponse: (response: object) => Buffer;
  readonly decodeResponse: (bytes: Uint8Array) => object;
}

export function rpcMethod(service: DescService, method: DescMethod): RpcMethod {
  const definition = grpcMethod(service, method);
  return {
    path: definition.path,
    name: method.toString(),
    takesOneRequest: takesOneRequest(method),
    encodeRequest: partsEncoder(method.input),
    decodeRequest: (bytes) => definition.requestDeserialize(asBuffer(bytes)),
    encodeResponse: definition.responseSerialize,
    decodeResponse: (bytes) => definition.responseDeserialize(asBuffer(bytes)),
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
