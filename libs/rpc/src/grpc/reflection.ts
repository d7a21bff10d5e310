import { type DescFile, type DescService, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { Server } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';

/** Lets tools such as grpcurl ask a server for its contracts. */
export function addReflection(server: Server, services: readonly DescService[]): void {
  const definition = Object.fromEntries(services.map((service) => [service.typeName, reflected(service)]));
  new ReflectionService(definition as ConstructorParameters<typeof ReflectionService>[0]).addToServer(server);
}

/**
 * The part of a package definition that the reflection service reads: the descriptor files of the
 * service.
 */
function reflected(service: DescService) {
  return {
    format: 'Protocol Buffer 3 DescriptorProto',
    type: service.proto,
    fileDescriptorProtos: filesOf(service.file).map((file) =>
      Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)),
    ),
  };
}

/** A file and everything it imports, each once. */
function filesOf(file: DescFile, seen = new Set<DescFile>()): readonly DescFile[] {
  if (seen.has(file)) return [];
  seen.add(file);
  return [...file.dependencies.flatMap((dependency) => filesOf(dependency, seen)), file];
}
