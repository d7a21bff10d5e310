// Apart from index.ts, so that one process without a network never loads gRPC.
export type { GrpcChannel } from './grpc-client.ts';
export { openGrpcChannel } from './grpc-client.ts';
export { grpcDefinition } from './grpc-definition.ts';
export type { GrpcServerOptions } from './grpc-server.ts';
export { GrpcServer } from './grpc-server.ts';
export type { MultiplexLimits } from './multiplex/limits.ts';
export type { MultiplexedChannelOptions } from './multiplex/multiplexed-channel.ts';
export { openMultiplexedChannel } from './multiplex/multiplexed-channel.ts';
