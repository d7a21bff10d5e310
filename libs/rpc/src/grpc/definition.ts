import { type DescMessage, type DescMethod, type DescService, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { ChannelOptions, MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { maxMessageBytes, pathOf, toMessage } from '../served-methods.ts';

/** A service of proto/ in grpc-js's format. */
export function grpcDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(service.methods.map((method) => [method.localName, grpcMethod(method)]));
}

/** One RPC in grpc-js's format. Plain objects are completed to messages before they are written. */
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

const MiB = 1024 * 1024;

const channelOptions: ChannelOptions = {
  // A batch of frames is slightly longer than the message in it.
  'grpc.max_receive_message_length': maxMessageBytes + MiB,
  'grpc.max_send_message_length': maxMessageBytes + MiB,
};

/**
 * A server receives request bodies of up to 64 MiB, which must not wait for a round trip every 64
 * KiB.
 */
export const serverOptions: ChannelOptions = { ...channelOptions, 'grpc-node.flow_control_window': 16 * MiB };

/**
 * Each connection to a replica has a subchannel of its own, so that a failed one never delays the
 * next attempt.
 */
export const clientOptions: ChannelOptions = {
  ...channelOptions,
  'grpc-node.flow_control_window': 4 * MiB,
  'grpc.use_local_subchannel_pool': 1,
  // The proxy of the environment is for providers, not for calls between services.
  'grpc.enable_http_proxy': 0,
};
