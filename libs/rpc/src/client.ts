import type { DescMethod, DescService, Message } from '@bufbuild/protobuf';
import { RpcError } from './errors.ts';
import {
  answerAll,
  answerOnce,
  answersOnce,
  asksOnce,
  firstOf,
  mapped,
  servedMethod,
  toMessage,
} from './served-methods.ts';
import type { CallOptions, Client, ServiceRoute } from './service-types.ts';
import { UnaryCall } from './unary-call.ts';

/**
 * Makes the calls of one method. A request is a message or an iterable of messages, depending on
 * the method.
 */
export interface MethodCalls {
  /** A call with one request and one answer. */
  once(request: object, options: CallOptions): Promise<Message>;
  /** A call of any other kind, which starts with the first `next()`. */
  stream(request: object, options: CallOptions): AsyncIterable<Message>;
}

/** A client that makes the calls of each method with `callsOf`. */
export function clientBy<S extends DescService>(service: S, callsOf: (method: DescMethod) => MethodCalls): Client<S> {
  const methods = service.methods.map((method) => {
    const { once, stream } = callsOf(method);
    const all = (request: object, options: CallOptions = {}) => stream(request, options);
    const only = async (request: object, options?: CallOptions) => {
      const response = await firstOf(all(request, options));
      if (response === undefined) throw new RpcError('internal', 'The service answered without a message.');
      return response;
    };
    const unary = (request: object, options: CallOptions = {}) => once(request, options);
    if (!answersOnce(method)) return [method.localName, all];
    return [method.localName, asksOnce(method) ? unary : only];
  });
  // Each entry matches its descriptor's kind, from which Client<S> is derived.
  return Object.fromEntries(methods) as Client<S>;
}

/**
 * A client that calls a service's handlers as plain functions. Nothing is serialised or copied, so
 * neither side may change a message after passing it on. Deadlines, cancellation and errors behave
 * as over a network.
 */
export function directClient<S extends DescService>(route: ServiceRoute<S>): Client<S> {
  return clientBy(route.service, (method) => {
    const served = servedMethod(method, route.handlers);
    return {
      once: (request, options) => {
        const message = toMessage(method.input, request);
        return new UnaryCall<Message>(options).run((context) => answerOnce(served, message, context));
      },
      stream: (request, options) =>
        answerAll(
          served,
          mapped(request, (fields) => toMessage(method.input, fields)),
          options,
        ),
    };
  });
}

/**
 * A direct client for one of the services that a process serves. Throws when none of the routes
 * serves it.
 */
export function directClientOf<S extends DescService>(routes: readonly ServiceRoute[], service: S): Client<S> {
  const route = routes.find((each) => each.service.typeName === service.typeName);
  if (route === undefined) throw new Error(`no route serves ${service.typeName}`);
  return directClient({ service, handlers: route.handlers });
}
