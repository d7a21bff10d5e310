import { create, type DescMethod, type DescService, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import { RpcError } from './rpc-error.ts';
import type { Client, ServiceRoute, UntypedHandlers } from './service-types.ts';

/** A call with one request and one answer as bytes, for channels that carry nothing else. */
export interface CallInBytes {
  /** `gateway.usage.v1.UsageReportService` */
  readonly service: string;
  /** `getTrace` */
  readonly method: string;
  readonly request: Uint8Array;
}

/** A client of a service's unary RPCs whose calls go out as bytes. `send` gives the answer's bytes. */
export function clientInBytes<S extends DescService>(
  service: S,
  send: (call: CallInBytes) => Promise<Uint8Array>,
): Client<S> {
  const calls = service.methods.filter(isUnary).map((method) => [
    method.localName,
    async (fields: Record<string, unknown>): Promise<Message> => {
      const request = toBinary(method.input, create(method.input, fields));
      return fromBinary(method.output, await send({ service: service.typeName, method: method.localName, request }));
    },
  ]);
  // Streams are left out, as they are of what operators call over HTTP.
  return Object.fromEntries(calls) as Client<S>;
}

/** Answers such a call from the routes of this process. Throws what the handler throws. */
export async function answerInBytes(routes: readonly ServiceRoute[], call: CallInBytes): Promise<Uint8Array> {
  const route = routes.find(({ service }) => service.typeName === call.service);
  const method = route?.service.methods.find(({ localName }) => localName === call.method);
  if (route === undefined || method === undefined || !isUnary(method)) {
    throw new RpcError('internal', `${call.service}/${call.method} is not served here.`);
  }
  const context = { signal: new AbortController().signal };
  const answer = await handlerOf(route.handlers, method)(fromBinary(method.input, call.request), context);
  return toBinary(method.output, create(method.output, answer));
}

type UnaryHandler = (
  request: Message,
  context: { readonly signal: AbortSignal },
) => Promise<Record<string, unknown>> | Record<string, unknown>;

function handlerOf(handlers: UntypedHandlers, method: DescMethod): UnaryHandler {
  // Handlers<S> made the compiler check that it is what the descriptor says.
  return handlers[method.localName] as UnaryHandler;
}

function isUnary(method: DescMethod): boolean {
  return method.methodKind === 'unary';
}
