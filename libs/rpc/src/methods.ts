import { create, type DescMessage, type DescMethod, type Message, toBinary } from '@bufbuild/protobuf';
import { RpcError } from './errors.ts';
import type { CallContext, ServiceRoute, UntypedHandlers } from './service-types.ts';

/** A handler by how it answers. It takes a message, or an iterable of messages, as its method's kind says. */
export type MethodHandler =
  | { readonly answersOnce: true; readonly handle: SingleHandler }
  | { readonly answersOnce: false; readonly handle: StreamHandler };

export type SingleHandler = (request: object, context: CallContext) => Promise<object> | object;
export type StreamHandler = (request: object, context: CallContext) => AsyncIterable<object>;

/** The handler of a method. Throws when there is none. */
export function handlerOf(method: DescMethod, handlers: UntypedHandlers): MethodHandler {
  const handle = handlers[method.localName];
  if (handle === undefined) throw new Error(`${method.toString()} has no handler`);
  // The compiler has checked the handlers against the contract, see `serviceRoute`.
  return { answersOnce: answersOnce(method), handle } as MethodHandler;
}

export interface ServedMethod {
  readonly method: DescMethod;
  readonly handler: MethodHandler;
}

/** The methods of routes, by their paths. */
export function servedMethods(routes: readonly ServiceRoute[]): ReadonlyMap<string, ServedMethod> {
  const methods = routes.flatMap(({ service, handlers }) =>
    service.methods.map((method) => ({ method, handler: handlerOf(method, handlers) })),
  );
  return new Map(methods.map((served) => [pathOf(served.method), served]));
}

export function answersOnce({ methodKind }: DescMethod): boolean {
  return methodKind === 'unary' || methodKind === 'client_streaming';
}

/** `/package.Service/Method` */
export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** A message with all its fields. One that is whole already is returned as it is. */
export function toMessage(schema: DescMessage, fields: object): Message {
  // Client<S> and Handlers<S> made the compiler check the fields against the schema.
  return create(schema, fields as Record<string, unknown>);
}

/** A message for a shared stream. Throws when it is too long for one: it would break all calls on it. */
export function encoded(schema: DescMessage, fields: object): Uint8Array {
  const bytes = toBinary(schema, toMessage(schema, fields));
  if (bytes.length <= maxMessageBytes) return bytes;
  throw new RpcError('internal', `A message of ${bytes.length} bytes is longer than ${maxMessageBytes}.`);
}

/** Largest message between services. Bodies travel in messages far below it. */
export const maxMessageBytes = 8 * 1024 * 1024;

export function isStream(messages: object): messages is AsyncIterable<object> {
  return Symbol.asyncIterator in messages;
}

export async function* mapped<S, T>(source: AsyncIterable<S>, map: (item: S) => T): AsyncGenerator<T, undefined> {
  for await (const item of source) yield map(item);
}
