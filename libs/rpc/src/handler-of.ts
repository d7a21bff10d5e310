import type { DescMethod } from '@bufbuild/protobuf';
import type { CallContext, UntypedHandlers } from './service-types.ts';

/** A handler by how it answers. It takes a message, or an iterable of messages, as its method's kind says. */
export type HandlerOf =
  | { readonly answersOnce: true; readonly handle: SingleHandler }
  | { readonly answersOnce: false; readonly handle: StreamHandler };

export type SingleHandler = (request: object, context: CallContext) => Promise<object> | object;
export type StreamHandler = (request: object, context: CallContext) => AsyncIterable<object>;

/** The handler of a method. Throws when there is none. */
export function handlerOf(method: DescMethod, handlers: UntypedHandlers): HandlerOf {
  const handle = handlers[method.localName];
  if (handle === undefined) throw new Error(`${method.toString()} has no handler`);
  if (takesOneAnswer(method)) return { answersOnce: true, handle };
  return { answersOnce: false, handle: (request, context) => manyAnswers(method, handle(request, context)) };
}

/** Whether a method takes one message rather than a stream of them. */
export function takesOneRequest({ methodKind }: DescMethod): boolean {
  return methodKind === 'unary' || methodKind === 'server_streaming';
}

function takesOneAnswer({ methodKind }: DescMethod): boolean {
  return methodKind === 'unary' || methodKind === 'client_streaming';
}

function manyAnswers(method: DescMethod, answers: object): AsyncIterable<object> {
  if (isAsyncIterable(answers)) return answers;
  throw new TypeError(`the handler of ${method.toString()} does not answer with a stream`);
}

function isAsyncIterable(value: object): value is AsyncIterable<object> {
  return Symbol.asyncIterator in value;
}
