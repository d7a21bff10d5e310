import { create, type DescMessage, type DescService, type Message } from '@bufbuild/protobuf';
import { abortReason, callSignal } from './call-signal.ts';
import type { CallContext, CallOptions, Client, ServiceRoute } from './service-types.ts';

/**
 * A client that calls a service's handlers as plain functions: nothing is serialised or copied, so neither side may
 * change a message after handing it over. Deadlines, cancellation and errors behave as over a network.
 */
export function directClient<S extends DescService>(route: ServiceRoute<S>): Client<S> {
  const calls = route.service.methods.map((method) => {
    // The descriptor's kind says which of these shapes the handler has; Handlers<S> made the compiler check it.
    const handler = route.handlers[method.localName] as never;
    switch (method.methodKind) {
      case 'unary':
        return [method.localName, directUnary(handler, method.input, method.output)];
      case 'server_streaming':
        return [method.localName, directServerStream(handler, method.input, method.output)];
      case 'client_streaming':
        return [method.localName, directClientStream(handler, method.input, method.output)];
      case 'bidi_streaming':
        return [method.localName, directBidiStream(handler, method.input, method.output)];
      default:
        throw new Error(`${method.toString()} has an unknown kind`);
    }
  });
  return Object.fromEntries(calls) as Client<S>;
}

/** A message, or the fields to make one of. */
type Fields = Record<string, unknown>;

type Single = (request: Message, context: CallContext) => Promise<Fields> | Fields;
type ServerStream = (request: Message, context: CallContext) => AsyncIterable<Fields>;
type ClientStream = (requests: AsyncIterable<Message>, context: CallContext) => Promise<Fields>;
type BidiStream = (requests: AsyncIterable<Message>, context: CallContext) => AsyncIterable<Fields>;

function directUnary(handler: Single, input: DescMessage, output: DescMessage) {
  return async (request: Fields, options: CallOptions = {}): Promise<Message> => {
    const call = callSignal(options);
    try {
      return create(output, await raceAbort(handler(create(input, request), call), call.signal));
    } finally {
      call.release();
    }
  };
}

function directServerStream(handler: ServerStream, input: DescMessage, output: DescMessage) {
  return (request: Fields, options: CallOptions = {}) =>
    messagesOf((call) => handler(create(input, request), call), output, options);
}

function directClientStream(handler: ClientStream, input: DescMessage, output: DescMessage) {
  return async (requests: AsyncIterable<Fields>, options: CallOptions = {}): Promise<Message> => {
    const call = callSignal(options);
    try {
      return create(output, await raceAbort(handler(messages(requests, input), call), call.signal));
    } finally {
      call.release();
    }
  };
}

function directBidiStream(handler: BidiStream, input: DescMessage, output: DescMessage) {
  return (requests: AsyncIterable<Fields>, options: CallOptions = {}) =>
    messagesOf((call) => handler(messages(requests, input), call), output, options);
}

/** The handler's messages. Leaving the loop early aborts the handler's signal, as a cancelled RPC would. */
async function* messagesOf(
  start: (context: CallContext) => AsyncIterable<Fields>,
  output: DescMessage,
  options: CallOptions,
): AsyncGenerator<Message> {
  const call = callSignal(options);
  const iterator = start(call)[Symbol.asyncIterator]();
  try {
    while (true) {
      const next = await raceAbort(iterator.next(), call.signal);
      if (next.done) return;
      yield create(output, next.value);
    }
  } finally {
    call.release();
    // Not awaited: a handler that is still busy ends by its signal, and the caller has what it wanted.
    iterator.return?.()?.then(undefined, () => undefined);
  }
}

async function* messages(requests: AsyncIterable<Fields>, input: DescMessage): AsyncGenerator<Message> {
  for await (const request of requests) yield create(input, request);
}

/** The value, or the abort, whichever is first: a handler that ignores its signal does not hold up its caller. */
function raceAbort<T>(value: Promise<T> | T, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(abortReason(signal));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    // Also after an abort: a handler that fails then fails for nobody, which must not end the process.
    Promise.resolve(value)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', abort));
  });
}
