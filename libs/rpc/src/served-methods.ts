import { create, type DescMessage, type DescMethod, isMessage, type Message, toBinary } from '@bufbuild/protobuf';
import { Call } from './call.ts';
import { isFault, type OnFault, RpcError, requestIdOf } from './errors.ts';
import type { CallContext, ServedCallOptions, ServiceRoute, UntypedHandler, UntypedHandlers } from './service-types.ts';

export interface ServedMethod {
  readonly method: DescMethod;
  /** Takes a message, or an iterable of messages, as its method's kind says, and gives a promise or an iterable. */
  readonly handle: UntypedHandler;
}

/** Throws when the method has no handler. */
export function servedMethod(method: DescMethod, handlers: UntypedHandlers): ServedMethod {
  const handle = handlers[method.localName];
  if (handle === undefined) throw new Error(`${method.toString()} has no handler`);
  return { method, handle };
}

/** The methods of routes, by their paths. */
export function servedMethods(routes: readonly ServiceRoute[]): ReadonlyMap<string, ServedMethod> {
  const methods = routes.flatMap(({ service, handlers }) =>
    service.methods.map((method) => servedMethod(method, handlers)),
  );
  return new Map(methods.map((served) => [pathOf(served.method), served]));
}

/** The answer of a unary method, whatever carries the call. */
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

/** A call and all of its answers, whatever carries it: here it begins and ends. */
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
  /** Makes what the carrier sends of the fields that the handler gives. Default: a whole message. */
  readonly toResponse?: ToResponse<T>;
}

type ToResponse<T> = (schema: DescMessage, fields: object) => T;

/** What becomes of a call that is over does not matter any more. */
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

/** Whether a method answers with one message. */
export function answersOnce({ methodKind }: DescMethod): boolean {
  return methodKind === 'unary' || methodKind === 'client_streaming';
}

/** Whether a method takes one message. */
export function asksOnce({ methodKind }: DescMethod): boolean {
  return methodKind === 'unary' || methodKind === 'server_streaming';
}

/** `/package.Service/Method` */
export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** A message with all its fields. One that is whole already is returned as it is. */
export function toMessage(schema: DescMessage, fields: object): Message {
  // Client<S> and Handlers<S> made the compiler check the fields against the schema.
  return isMessage(fields, schema) ? fields : create(schema, fields as Record<string, unknown>);
}

/** A message for a shared stream. Throws when it is too long for one: it would break all calls on it. */
export function encoded(schema: DescMessage, fields: object): Uint8Array {
  const bytes = toBinary(schema, toMessage(schema, fields));
  if (bytes.length <= maxMessageBytes) return bytes;
  throw new RpcError('internal', `A message of ${bytes.length} bytes is longer than ${maxMessageBytes}.`);
}

/** Largest message between services. Bodies travel in messages far below it. */
export const maxMessageBytes = 8 * 1024 * 1024;

/** One message, or each of several, as `map` makes it. */
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
