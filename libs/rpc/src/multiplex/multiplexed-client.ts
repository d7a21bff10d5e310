import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { allAtHand } from '../at-hand.ts';
import { RpcError } from '../rpc-error.ts';
import type { CallOptions, Client } from '../service-types.ts';
import type { MessageBytes } from '../wire/message-in-parts.ts';
import { SingleAnswer } from './answers.ts';
import { ClientCall, type Dispatcher } from './client-call.ts';
import type { MultiplexLimits } from './limits.ts';
import { type RpcMethod, rpcMethod } from './rpc-method.ts';
import { StreamedAnswers, type Target } from './streamed-answers.ts';

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

function callOf({ methodKind }: DescMethod, target: Target) {
  switch (methodKind) {
    case 'unary':
      return (request: object, options: CallOptions = {}) =>
        answered(target, options, (call) => sendOnly(target.method, call, request));
    case 'client_streaming':
      return (requests: AsyncIterable<object>, options: CallOptions = {}) =>
        answered(target, options, (call) => sendAll(target.method, call, requests));
    case 'server_streaming':
      return (request: object, options: CallOptions = {}) =>
        new StreamedAnswers(target, options, (call) => sendOnly(target.method, call, request));
    case 'bidi_streaming':
      return (requests: AsyncIterable<object>, options: CallOptions = {}) =>
        new StreamedAnswers(target, options, (call) => sendAll(target.method, call, requests));
  }
}

/** Runs a call with a single answer. */
function answered(target: Target, options: CallOptions, send: (call: ClientCall) => void): Promise<object> {
  const { method, dispatcher, limits } = target;
  return new Promise((resolve, reject) => {
    const answer = new SingleAnswer(limits, method.decodeResponse, resolve, reject);
    const call = new ClientCall(method.path, options, answer, dispatcher);
    answer.answers(call);
    call.start();
    send(call);
  });
}

function sendOnly(method: RpcMethod, call: ClientCall, request: object): void {
  const message = encoded(method, call, request);
  if (message !== undefined) call.send(message, true);
}

/** Sends the requests: at once when all are there, else as fast as the server takes them. */
function sendAll(method: RpcMethod, call: ClientCall, requests: AsyncIterable<object>): void {
  const messages = allAtHand(requests);
  if (messages === undefined) void sendEach(method, call, requests);
  else sendAtHand(method, call, messages);
}

/** What the server does not take yet waits in the call, as the messages would do anyway. */
function sendAtHand(method: RpcMethod, call: ClientCall, messages: readonly object[]): void {
  if (messages.length === 0) return call.finish();
  for (const [index, request] of messages.entries()) {
    const message = encoded(method, call, request);
    if (message === undefined) return;
    void call.send(message, index === messages.length - 1);
  }
}

/** A source that throws cancels the call. */
async function sendEach(method: RpcMethod, call: ClientCall, requests: AsyncIterable<object>): Promise<void> {
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
function encoded(method: RpcMethod, call: ClientCall, request: object): MessageBytes | undefined {
  try {
    return method.encodeRequest(request);
  } catch (thrown) {
    call.giveUp(new RpcError('internal', 'The request could not be written.', { cause: thrown }));
    return undefined;
  }
}
