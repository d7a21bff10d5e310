import { GatewayError } from '@gateway/errors';
import { RpcError } from '../rpc-error.ts';
import type { CallContext, ServiceRoute } from '../service-types.ts';
import { type RpcMethod, rpcMethod } from './rpc-method.ts';

/** An RPC with the handler that answers it. */
export type ServedMethod = RpcMethod &
  ({ readonly answersOnce: true; readonly handler: SingleHandler } | StreamingMethod);

interface StreamingMethod {
  readonly answersOnce: false;
  readonly handler: StreamHandler;
}

/** Takes a message or an iterable of messages, as the method's kind says. */
type SingleHandler = (request: object, context: CallContext) => Promise<object> | object;
type StreamHandler = (request: object, context: CallContext) => AsyncIterable<object>;

/** Every RPC of the routes by its path. */
export function servedMethods(routes: readonly ServiceRoute[]): ReadonlyMap<string, ServedMethod> {
  const methods = routes.flatMap(({ service, handlers }) =>
    service.methods.map((method): ServedMethod => {
      // serviceRoute() had the compiler check each handler against the kind that the descriptor names.
      const handler = handlers[method.localName] as never;
      const answersOnce = method.methodKind === 'unary' || method.methodKind === 'client_streaming';
      return { ...rpcMethod(service, method), answersOnce, handler };
    }),
  );
  return new Map(methods.map((method) => [method.path, method]));
}

/** Whether a failure is our own: neither an answer of the public table nor something that happened on the way. */
export function isFault(thrown: unknown): boolean {
  if (thrown instanceof RpcError) return false;
  return !(thrown instanceof GatewayError) || thrown.code === 'internal_error';
}
