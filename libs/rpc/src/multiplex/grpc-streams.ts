import { MultiplexService } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import {
  type ChannelCredentials,
  type ClientDuplexStream,
  Client as GrpcJsClient,
  type handleBidiStreamingCall,
  Metadata,
  type ServerDuplexStream,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import { grpcMethod } from '../grpc-definition.ts';
import { clientChannelOptions } from '../grpc-options.ts';
import type { BatchListener, BatchTransport } from './batch-transport.ts';
import { framesOf } from './frame-batch.ts';

const path = grpcMethod(MultiplexService, MultiplexService.method.open).path;

/** Batches are written and read by hand: they are one field of bytes. */
const batches = {
  path,
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

/**
 * Opens a stream of calls to one address, on a connection of its own, so that a new attempt does not wait for the
 * backoff of an earlier one. The listener is told when the stream breaks, also when it could not be opened.
 */
export function openStream<L extends BatchListener>(
  target: string,
  credentials: ChannelCredentials,
  listen: (transport: BatchTransport) => L,
): L {
  const client = new GrpcJsClient(target, credentials, {
    ...clientChannelOptions,
    'grpc.use_local_subchannel_pool': 1,
    // Nothing of a stream can be sent again; this saves keeping copies of what was.
    'grpc.enable_retries': 0,
    'grpc.service_config_disable_resolution': 1,
  });
  const call = client.makeBidiStreamRequest(
    path,
    batches.requestSerialize,
    batches.responseDeserialize,
    new Metadata(),
  );
  const listener = listen({
    send: (message, sent) => call.write(message, sent),
    end: () => call.end(),
    destroy: () => call.cancel(),
  });
  relayBatches(call, listener);
  call.on('status', () => client.close());
  return listener;
}

/** The server's end of a stream of calls. */
export function acceptStream(
  call: ServerDuplexStream<Buffer, Buffer>,
  listen: (transport: BatchTransport) => BatchListener,
): void {
  const listener = listen({
    send: (message, sent) => call.write(message, sent),
    end: () => call.end(),
    destroy: () => call.end(),
  });
  relayBatches(call, listener);
  call.on('cancelled', () => listener.onBroken(undefined));
}

function relayBatches(
  call: ClientDuplexStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>,
  listener: BatchListener,
): void {
  call.on('data', (message: Buffer) => {
    const frames = framesOf(message);
    if (frames === undefined) listener.onBroken(new Error('A batch holds something else than frames.'));
    else listener.onBatch(frames);
  });
  call.on('end', () => listener.onEnd());
  call.on('error', (cause: unknown) => listener.onBroken(cause));
}
