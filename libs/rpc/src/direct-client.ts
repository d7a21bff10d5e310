import type { DescMethod, DescService, Message } from '@bufbuild/protobuf';
import { CallScope, ResponseStream } from './call-scope.ts';
import { handlerOf, isStream, mapped, type SingleHandler, type StreamHandler, toMessage } from './methods.ts';
import type { CallOptions, Client, ServiceRoute } from './service-types.ts';

/**
 * A client that calls a service's handlers as plain functions: nothing is serialised or copied, so neither side may
 * change a message after handing it over. Deadlines, cancellation and errors behave as over a network.
 */
export function directClient<S extends DescService>(route: ServiceRoute<S>): Client<S> {
  const calls = route.service.methods.map((method) => {
    const handler = handlerOf(method, route.handlers);
    return [method.localName, handler.answersOnce ? single(method, handler.handle) : stream(method, handler.handle)];
  });
  // Each entry follows the descriptor's kind, which is what Client<S> is derived from.
  return Object.fromEntries(calls) as Client<S>;
}

/** A direct client of one service among the routes of a process. Throws when none of them serves it. */
export function directClientOf<S extends DescService>(routes: readonly ServiceRoute[], service: S): Client<S> {
  const route = routes.find((each) => each.service.typeName === service.typeName);
  if (route === undefined) throw new Error(`no route serves ${service.typeName}`);
  return directClient({ service, handlers: route.handlers });
}

function single(method: DescMethod, handle: SingleHandler) {
  return async (request: object, options?: CallOptions): Promise<Message> => {
    using scope = new CallScope(options);
    scope.throwIfOver();
    const response = handle(requestOf(method, request), scope);
    // A handler that ignores its signal does not hold up its caller.
    return toMessage(method.output, response instanceof Promise ? await scope.race(response) : response);
  };
}

function stream(method: DescMethod, handle: StreamHandler) {
  const toResponse = (fields: object) => toMessage(method.output, fields);
  return (request: object, options: CallOptions = {}): AsyncIterable<Message> =>
    new ResponseStream(options, (scope) => handle(requestOf(method, request), scope), toResponse);
}

/** What the caller gives, as its handler takes it: a message or a stream of them, with all fields. */
function requestOf({ input }: DescMethod, request: object): Message | AsyncIterable<Message> {
  return isStream(request) ? mapped(request, (fields) => toMessage(input, fields)) : toMessage(input, request);
}
