import { create, type DescMessage, type DescMethod, isMessage, type Message, toBinary } from '@bufbuild/protobuf';
import { Call } from './call.ts';
import { isFault, type OnFault, RpcError, requestIdOf } from './errors.ts';
import type { CallContext, ServedCallOptions, ServiceRoute, UntypedHandler, UntypedHandlers } from './service-types.ts';

export interface ServedMethod {
  readonly method: DescMethod;
  /**
   * Takes a message or an iterable of messages, depending on the method's kind, and returns a
   * promise or an iterable.
   */
  readonly handle: UntypedHandler;
}

/** Throws when the method has no handler. */
export function servedMethod(method: DescMethod, handlers: UntypedHandlers): ServedMethod {
  const handle = handlers[method.localName];
  if (handle === undefined) throw new Error(`${method.toString()} has no handler`);
  return { method, handle };
}

/** The methods of all routes, by path. */
export function servedMethods(routes: readonly ServiceRoute[]): ReadonlyMap<string, ServedMethod> {
  const methods = routes.flatMap(({ service, handlers }) =>
    service.methods.map((method) => servedMethod(method, handlers)),
  );
  return new Map(methods.map((served) => [pathOf(served.method), served]));
}

/** The answer of a unary method, over any transport. */
export async function answerOnce<T = Message>(
  { method, handle }: ServedMethod,
  request: object,
  context: CallContext,
  { onFault, toResponse = toMessage as ToResponse<T> }: AnswerOptions<T> = {},
): Promise<T> {
  try {
    return toResponse(method.output, await handle(request, context));
  } catch (thrown) {
    reportFault(method, request, context, thrown, onFault);
    throw thrown;
  }
}

/** A call with all its answers, over any transport. Its start and end are measured here. */
export function answerAll<T = Message>(
  { method, handle }: ServedMethod,
  request: object,
  options: ServedCallOptions,
  { onFault, toResponse = toMessage as ToResponse<T> }: AnswerOptions<T> = {},
): Call<T> {
  return new Call(options, {
    begin(context) {
      const answered = handle(request, context);
      return isStream(answered) ? answered : only(answered);
    },
    toResponse: (fields) => toResponse(method.output, fields),
    onThrown: (thrown, context) => reportFault(method, request, context, thrown, onFault),
  });
}

export interface AnswerOptions<T> {
  readonly onFault?: OnFault | undefined;
  /**
   * Converts the fields that the handler returns to what the transport sends. Default: a whole
   * message.
   */
  readonly toResponse?: ToResponse<T>;
}

type ToResponse<T> = (schema: DescMessage, fields: object) => T;

/** The failure of a call that is already over does not matter. */
function reportFault(
  method: DescMethod,
  request: object,
  { signal }: CallContext,
  thrown: unknown,
  onFault: OnFault | undefined,
): void {
  if (onFault !== undefined && isFault(thrown) && !signal.aborted) {
    onFault(method.toString(), thrown, requestIdOf(request));
  }
}

/** Whether a method has a single answer. */
export function answersOnce({ methodKind }: DescMethod): boolean {
  return methodKind === 'unary' || methodKind === 'client_streaming';
}

/** Whether a method has a single request. */
export function asksOnce({ methodKind }: DescMethod): boolean {
  return methodKind === 'unary' || methodKind === 'server_streaming';
}

/** `/package.Service/Method` */
export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** Completes fields to a message. A complete message is returned unchanged. */
export function toMessage(schema: DescMessage, fields: object): Message {
  // The types Client<S> and Handlers<S> made the compiler check the fields against the schema.
  return isMessage(fields, schema) ? fields : create(schema, fields as Record<string, unknown>);
}

/**
 * Serialises a message for a shared stream. Throws when the message is too long, because it would
 * break all calls on the stream.
 */
export function encoded(schema: DescMessage, fields: object): Uint8Array {
  const bytes = toBinary(schema, toMessage(schema, fields));
  if (bytes.length <= maxMessageBytes) return bytes;
  throw new RpcError('internal', `A message of ${bytes.length} bytes is longer than ${maxMessageBytes}.`);
}

/** The largest message between services. Bodies are sent in much smaller messages. */
export const maxMessageBytes = 8 * 1024 * 1024;

/** Applies `map` to one message, or to each of several. */
export function mapped<S extends object, T>(
  source: S | AsyncIterable<S>,
  map: (message: S) => T,
): T | AsyncIterable<T> {
  return isStream(source) ? mappedAll(source, map) : map(source);
}

async function* mappedAll<S, T>(source: AsyncIterable<S>, map: (item: S) => T): AsyncGenerator<T, undefined> {
  for await (const item of source) yield map(item);
}

async function* only(answered: object): AsyncGenerator<object, undefined> {
  yield await answered;
}

export async function firstOf<T>(messages: AsyncIterable<T>): Promise<T | undefined> {
  for await (const message of messages) return message;
  return undefined;
}

function isStream<S extends object>(messages: S | AsyncIterable<S>): messages is AsyncIterable<S> {
  return Symbol.asyncIterator in messages;
}
