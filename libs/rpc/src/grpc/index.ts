// Separate from the package's index, so that a process without a network never loads gRPC.
export type { Channel, ChannelOptions } from '../multiplex/channel.ts';
export { openChannel } from '../multiplex/channel.ts';
export { grpcDefinition } from './definition.ts';
export type { OnRefused, Refusal } from './server.ts';
export { GrpcServer } from './server.ts';
export { Tls } from './tls.ts';
