import { type HandlerOf, handlerOf } from '../handler-of.ts';
import type { ServiceRoute } from '../service-types.ts';
import { type RpcMethod, rpcMethod } from './rpc-method.ts';

/** An RPC with the handler that answers it. */
export type ServedMethod = RpcMethod & HandlerOf;

/** Every RPC of the routes by its path. */
export function servedMethods(routes: readonly ServiceRoute[]): ReadonlyMap<string, ServedMethod> {
  const methods = routes.flatMap(({ service, handlers }) =>
    service.methods.map((method) => ({ ...rpcMethod(service, method), ...handlerOf(method, handlers) })),
  );
  return new Map(methods.map((method) => [method.path, method]));
}
