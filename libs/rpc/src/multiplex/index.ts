/** Calls on a shared stream over any transport: for a network that is not gRPC. */
export { deadlines } from '../deadlines.ts';
export { servedMethods } from '../served-methods.ts';
export type { BatchStream } from './batch-writer.ts';
export { clientOf } from './channel.ts';
export { ClientSession } from './client-session.ts';
export { Replicas } from './replicas.ts';
export { ServerSession } from './server-session.ts';
