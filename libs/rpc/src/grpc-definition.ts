import type { DescMethod, DescService } from '@bufbuild/protobuf';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { messageDecoder } from './wire/message-decoder.ts';
import { messageEncoder } from './wire/message-encoder.ts';

/** A service of proto/ in the form that grpc-js takes. */
export function grpcDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(service.methods.map((method) => [method.localName, grpcMethod(service, method)]));
}

/** One RPC in the form that grpc-js takes. Plain objects are completed to messages before they are written. */
export function grpcMethod(service: DescService, method: DescMethod): MethodDefinition<object, object> {
  return {
    path: `/${service.typeName}/${method.name}`,
    originalName: method.localName,
    requestStream: method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming',
    responseStream: method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming',
    requestSerialize: messageEncoder(method.input),
    requestDeserialize: messageDecoder(method.input),
    responseSerialize: messageEncoder(method.output),
    responseDeserialize: messageDecoder(method.output),
  };
}
