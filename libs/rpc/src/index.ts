export type { CallInBytes } from './calls-in-bytes.ts';
export { answerInBytes, clientInBytes } from './calls-in-bytes.ts';
export { directClient } from './direct-client.ts';
export { directClientOf } from './direct-client-of.ts';
export { isAborted } from './is-aborted.ts';
export type { RpcStatus } from './rpc-error.ts';
export { RpcError } from './rpc-error.ts';
export type { CallContext, CallOptions, Client, Handlers, ServiceRoute } from './service-types.ts';
export { serviceRoute } from './service-types.ts';
