import { create, type DescMessage, type DescMethod, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import { RpcError } from './errors.ts';
import type { CallContext, UntypedHandlers } from './service-types.ts';

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
  if (answersOnce(method)) return { answersOnce: true, handle };
  return { answersOnce: false, handle: (request, context) => asStream(method, handle(request, context)) };
}

export function answersOnce({ methodKind }: DescMethod): boolean {
  return methodKind === 'unary' || methodKind === 'client_streaming';
}

export function takesOneRequest({ methodKind }: DescMethod): boolean {
  return methodKind === 'unary' || methodKind === 'server_streaming';
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

export async function* encodedAll(schema: DescMessage, messages: AsyncIterable<object>): AsyncGenerator<Uint8Array> {
  for await (const message of messages) yield encoded(schema, message);
}

export async function* decodedAll(schema: DescMessage, messages: AsyncIterable<Uint8Array>): AsyncGenerator<Message> {
  for await (const message of messages) yield fromBinary(schema, message);
}

export function isStream(messages: object): messages is AsyncIterable<object> {
  return Symbol.asyncIterator in messages;
}

function asStream(method: DescMethod, responses: object): AsyncIterable<object> {
  if (isStream(responses)) return responses;
  throw new TypeError(`the handler of ${method.toString()} does not answer with a stream`);
}
