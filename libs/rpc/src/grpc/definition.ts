import { type DescMessage, type DescMethod, type DescService, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { pathOf, toMessage } from '../methods.ts';

/** A service of proto/ in the form that grpc-js takes. */
export function grpcDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(service.methods.map((method) => [method.localName, grpcMethod(method)]));
}

/** One RPC in the form that grpc-js takes. Plain objects are completed to messages before they are written. */
export function grpcMethod(method: DescMethod): MethodDefinition<object, object> {
  const { input, output, methodKind } = method;
  return {
    path: pathOf(method),
    originalName: method.localName,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
    requestSerialize: (request) => encode(input, request),
    requestDeserialize: (bytes) => fromBinary(input, bytes),
    responseSerialize: (response) => encode(output, response),
    responseDeserialize: (bytes) => fromBinary(output, bytes),
  };
}

function encode(schema: DescMessage, fields: object): Buffer {
  const { buffer, byteOffset, byteLength } = toBinary(schema, toMessage(schema, fields));
  return Buffer.from(buffer, byteOffset, byteLength);
}
