import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { RpcError } from '../rpc-error.ts';
import type { CallOptions, Client } from '../service-types.ts';
import { SingleAnswer } from './answers.ts';
import { type AnswerSink, ClientCall, type Dispatcher } from './client-call.ts';
import type { MultiplexLimits } from './limits.ts';
import { MessageQueue } from './message-queue.ts';
import { type RpcMethod, rpcMethod } from './rpc-method.ts';

/** A typed client whose calls go where the dispatcher finds a place for them. */
export function multiplexedClient<S extends DescService>(
  service: S,
  dispatcher: Dispatcher,
  limits: MultiplexLimits,
): Client<S> {
  const calls = service.methods.map((method) => [
    method.localName,
    callOf(method, { method: rpcMethod(service, method), dispatcher, limits }),
  ]);
  // Each entry follows the descriptor's kind, which is what Client<S> is derived from.
  return Object.fromEntries(calls) as Client<S>;
}

interface Target {
  readonly method: RpcMethod;
  readonly dispatcher: Dispatcher;
  readonly limits: MultiplexLimits;
}

function callOf({ methodKind }: DescMethod, target: Target) {
  switch (methodKind) {
    case 'unary':
      return (request: object, options: CallOptions = {}) =>
        answered(target, options, (call) => sendOnly(target.method, call, request));
    case 'client_streaming':
      return (requests: AsyncIterable<object>, options: CallOptions = {}) =>
        answered(target, options, (call) => void sendAll(target.method, call, requests));
    case 'server_streaming':
      return (request: object, options: CallOptions = {}) =>
        new Answers(target, options, (call) => sendOnly(target.method, call, request));
    case 'bidi_streaming':
      return (requests: AsyncIterable<object>, options: CallOptions = {}) =>
        new Answers(target, options, (call) => void sendAll(target.method, call, requests));
  }
}

/** Runs a call with a single answer. */
function answered(target: Target, options: CallOptions, send: (call: ClientCall) => void): Promise<object> {
  const { method, dispatcher, limits } = target;
  return new Promise((resolve, reject) => {
    const answer = new SingleAnswer({
      windowBytes: limits.windowBytes,
      maxMessageBytes: limits.maxMessageBytes,
      grant: (bytes) => call.grant(bytes),
      decode: method.decodeResponse,
      resolve,
      reject,
    });
    const call = new ClientCall(method.path, options, answer, dispatcher);
    call.start();
    send(call);
  });
}

/** The answers of a streaming call, which begins when the first one is asked for. Leaving the loop early cancels it. */
class Answers implements AsyncIterableIterator<object> {
  readonly #target: Target;
  readonly #options: CallOptions;
  readonly #send: (call: ClientCall) => void;
  #queue: MessageQueue<object> | undefined;
  #left = false;

  constructor(target: Target, options: CallOptions, send: (call: ClientCall) => void) {
    this.#target = target;
    this.#options = options;
    this.#send = send;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<object, undefined>> {
    if (this.#left) return Promise.resolve({ done: true, value: undefined });
    this.#queue ??= this.#begin();
    return this.#queue.next();
  }

  return(): Promise<IteratorResult<object, undefined>> {
    this.#left = true;
    return this.#queue?.return() ?? Promise.resolve({ done: true, value: undefined });
  }

  #begin(): MessageQueue<object> {
    const { method, dispatcher, limits } = this.#target;
    const queue: MessageQueue<object> & AnswerSink = new MessageQueue<object>({
      windowBytes: limits.windowBytes,
      maxMessageBytes: limits.maxMessageBytes,
      grant: (bytes) => call.grant(bytes),
      decode: (message) => decodeAnswer(method, message),
      onLeave: () => call.abandon(),
    });
    const call = new ClientCall(method.path, this.#options, queue, dispatcher);
    call.start();
    this.#send(call);
    return queue;
  }
}

function decodeAnswer(method: RpcMethod, message: Uint8Array): object {
  try {
    return method.decodeResponse(message);
  } catch (thrown) {
    throw new RpcError('internal', 'The answer could not be read.', { cause: thrown });
  }
}

function sendOnly(method: RpcMethod, call: ClientCall, request: object): void {
  const message = encoded(method, call, request);
  if (message !== undefined) call.send(message, true);
}

/** Sends the requests as fast as the server takes them. A source that throws cancels the call. */
async function sendAll(method: RpcMethod, call: ClientCall, requests: AsyncIterable<object>): Promise<void> {
  try {
    for await (const request of requests) {
      if (call.isOver) return;
      const message = encoded(method, call, request);
      if (message === undefined) return;
      const room = call.send(message, false);
      if (room !== undefined) await room;
    }
    call.finish();
  } catch (thrown) {
    call.onSourceFailed(thrown);
  }
}

/** The request as bytes. One that cannot be written fails its call. */
function encoded(method: RpcMethod, call: ClientCall, request: object): Buffer | undefined {
  try {
    return method.encodeRequest(request);
  } catch (thrown) {
    call.giveUp(new RpcError('internal', 'The request could not be written.', { cause: thrown }));
    return undefined;
  }
}
