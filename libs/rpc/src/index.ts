export * from './call-table.ts';
export { directClient, directClientOf } from './client.ts';
export type { OnFault, RpcStatus } from './errors.ts';
export { isNotNow, RpcError } from './errors.ts';
export type { CallContext, Caller, CallOptions, Client, Handlers, ServiceRoute } from './service-types.ts';
export { serviceRoute } from './service-types.ts';
export { mostTextBytes, tooLongField, tooLongText, withBoundedTexts } from './text-bounds.ts';
export { UnaryCall } from './unary-call.ts';
