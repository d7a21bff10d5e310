import type { DescMethod, DescService, Message } from '@bufbuild/protobuf';
import { RpcError } from './errors.ts';
import { answer, answersOnce, firstOf, mapped, servedMethod, toMessage } from './methods.ts';
import type { CallOptions, Client, ServiceRoute } from './service-types.ts';

/** One call: with a message or an iterable of messages, as the method takes them. */
type StartCall = (request: object, options: CallOptions) => AsyncIterable<Message>;

/** A client whose calls go where `startOf` says for each method. Here they begin and end on the side of the caller. */
export function clientBy<S extends DescService>(service: S, startOf: (method: DescMethod) => StartCall): Client<S> {
  const calls = service.methods.map((method) => {
    const start = startOf(method);
    const stream = (request: object, options: CallOptions = {}) => start(request, options);
    const single = async (request: object, options?: CallOptions) => {
      const response = await firstOf(stream(request, options));
      if (response === undefined) throw new RpcError('internal', 'The service answered without a message.');
      return response;
    };
    return [method.localName, answersOnce(method) ? single : stream];
  });
  // Each entry follows the descriptor's kind, which is what Client<S> is derived from.
  return Object.fromEntries(calls) as Client<S>;
}

/**
 * A client that calls a service's handlers as plain functions: nothing is serialised or copied, so neither side may
 * change a message after handing it over. Deadlines, cancellation and errors behave as over a network.
 */
export function directClient<S extends DescService>(route: ServiceRoute<S>): Client<S> {
  return clientBy(route.service, (method) => {
    const served = servedMethod(method, route.handlers);
    return (request, options) =>
      answer(
        served,
        mapped(request, (fields) => toMessage(method.input, fields)),
        options,
      );
  });
}

/** A direct client of one service among the routes of a process. Throws when none of them serves it. */
export function directClientOf<S extends DescService>(routes: readonly ServiceRoute[], service: S): Client<S> {
  const route = routes.find((each) => each.service.typeName === service.typeName);
  if (route === undefined) throw new Error(`no route serves ${service.typeName}`);
  return directClient({ service, handlers: route.handlers });
}
