import { MultiplexService } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import type { handleBidiStreamingCall, ServerDuplexStream, ServiceDefinition } from '@grpc/grpc-js';
import { grpcMethod } from '../grpc-definition.ts';
import type { BatchListener, BatchTransport } from './batch-transport.ts';
import { framesOf } from './frame-batch.ts';

/** The method of gRPC that a stream of calls is. */
export const openPath = grpcMethod(MultiplexService, MultiplexService.method.open).path;

/** Batches are written and read by hand: they are one field of bytes. */
const batches = {
  path: openPath,
  requestStream: true,
  responseStream: true,
  requestSerialize: (message: Buffer) => message,
  requestDeserialize: (message: Buffer) => message,
  responseSerialize: (message: Buffer) => message,
  responseDeserialize: (message: Buffer) => message,
} as const;

/** The service as grpc-js takes it. */
export const multiplexDefinition: ServiceDefinition = { open: batches };

export type OpenHandler = handleBidiStreamingCall<Buffer, Buffer>;

/** The server's end of a stream of calls that shares its connection with others, or comes through a proxy. */
export function acceptStream(
  call: ServerDuplexStream<Buffer, Buffer>,
  listen: (transport: BatchTransport) => BatchListener,
): void {
  const listener = listen({
    send: ({ bytes, start }, sent) => call.write(bytes.subarray(start), sent),
    end: () => call.end(),
    destroy: () => call.end(),
  });
  call.on('data', (message: Buffer) => {
    const frames = framesOf(message);
    if (frames === undefined) listener.onBroken(new Error('A batch holds something else than frames.'));
    else listener.onBatch(frames);
  });
  call.on('end', () => listener.onEnd());
  call.on('error', (cause: unknown) => listener.onBroken(cause));
  call.on('cancelled', () => listener.onBroken(undefined));
}
