import type { DescMethod, DescService, Message } from '@bufbuild/protobuf';
import { allAtHand, atHand } from './at-hand.ts';
import { completeMessage } from './complete-message.ts';
import { callerCancelled, DirectCall } from './direct-call.ts';
import { DirectAnswers, DirectRequests } from './direct-streams.ts';
import { callEnded, HandlerContext } from './handler-context.ts';
import { handlerOf, type SingleHandler, type StreamHandler } from './handler-of.ts';
import type { CallOptions, Client, ServiceRoute } from './service-types.ts';
import type { Answers } from './told-answers.ts';

/**
 * A client that calls a service's handlers as plain functions: nothing is serialised or copied, so neither side may
 * change a message after handing it over. Deadlines, cancellation and errors behave as over a network.
 */
export function directClient<S extends DescService>(route: ServiceRoute<S>): Client<S> {
  const calls = route.service.methods.map((method) => {
    const handler = handlerOf(method, route.handlers);
    return [method.localName, handler.answersOnce ? single(method, handler.handle) : stream(method, handler.handle)];
  });
  // Each entry follows the descriptor's kind, which is what Client<S> is derived from.
  return Object.fromEntries(calls) as Client<S>;
}

/** What a handler answers at once is not waited for: such a call needs no deadline, and nobody can cancel it meanwhile. */
function single(method: DescMethod, handle: SingleHandler) {
  return (request: object, options: CallOptions = noOptions): Promise<Message> => {
    if (options.signal?.aborted) return Promise.reject(callerCancelled());
    const context = new HandlerContext();
    try {
      const answer = handle(handedOver(method, request), context);
      if (answer instanceof Promise) return awaited(method, answer, context, options);
      context.abort(callEnded);
      return Promise.resolve(completeMessage(method.output, answer));
    } catch (thrown) {
      context.abort(callEnded);
      return Promise.reject(thrown);
    }
  };
}

function awaited(
  method: DescMethod,
  answer: Promise<object>,
  context: HandlerContext,
  options: CallOptions,
): Promise<Message> {
  return new Promise((resolve, reject) => {
    // A handler that ignores its signal does not hold up its caller.
    const call = new DirectCall(options, reject, context);
    const onAnswer = (message: object) => {
      call.end();
      resolve(completeMessage(method.output, message));
    };
    const onThrown = (thrown: unknown) => {
      call.end();
      reject(thrown);
    };
    answer.then(onAnswer).catch(onThrown);
    call.start();
  });
}

function stream(method: DescMethod, handle: StreamHandler) {
  return (request: object, options: CallOptions = noOptions): Answers<Message> =>
    new DirectAnswers(method.output, options, (context) => handle(handedOver(method, request), context));
}

/** What the caller gives, as its handler takes it: a message or a stream of them, with all fields. */
function handedOver(method: DescMethod, request: object): Message | AsyncIterable<Message> {
  if (!isStream(request)) return completeMessage(method.input, request);
  const messages = allAtHand(request);
  if (messages === undefined) return new DirectRequests(method.input, request);
  return atHand(messages.map((message) => completeMessage(method.input, message)));
}

function isStream(request: object): request is AsyncIterable<object> {
  return Symbol.asyncIterator in request;
}

const noOptions: CallOptions = {};
