import { create, createFileRegistry, type DescMethod } from '@bufbuild/protobuf';
import type { GenService } from '@bufbuild/protobuf/codegenv2';
import {
  type BytesValueSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  file_google_protobuf_wrappers,
} from '@bufbuild/protobuf/wkt';

interface Play<Kind extends DescMethod['methodKind']> {
  methodKind: Kind;
  input: typeof BytesValueSchema;
  output: typeof BytesValueSchema;
}

/** A service with an RPC of each kind. All of them take and return bytes. */
export const PlayService = playService();

function playService() {
  const bytes = '.google.protobuf.BytesValue';
  const method = (name: string, clientStreaming: boolean, serverStreaming: boolean) => ({
    name,
    inputType: bytes,
    outputType: bytes,
    clientStreaming,
    serverStreaming,
  });
  const file: FileDescriptorProto = create(FileDescriptorProtoSchema, {
    name: 'play.proto',
    package: 'play',
    syntax: 'proto3',
    dependency: ['google/protobuf/wrappers.proto'],
    service: [
      {
        name: 'PlayService',
        method: [
          method('Unary', false, false),
          method('ServerStream', false, true),
          method('ClientStream', true, false),
          method('BidiStream', true, true),
        ],
      },
    ],
  });
  const service = createFileRegistry(file, () => file_google_protobuf_wrappers.proto).getService('play.PlayService');
  // The descriptor above defines each of these methods.
  return service as GenService<{
    unary: Play<'unary'>;
    serverStream: Play<'server_streaming'>;
    clientStream: Play<'client_streaming'>;
    bidiStream: Play<'bidi_streaming'>;
  }>;
}
