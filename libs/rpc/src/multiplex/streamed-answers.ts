import { RpcError } from '../rpc-error.ts';
import type { CallOptions } from '../service-types.ts';
import type { AnswerListener, Answers, ToldCall } from '../told-answers.ts';
import { type AnswerSink, ClientCall, type Dispatcher } from './client-call.ts';
import type { MultiplexLimits } from './limits.ts';
import { MessageQueue, type QueueOptions } from './message-queue.ts';
import type { RpcMethod } from './rpc-method.ts';
import { ToldMessages } from './told-messages.ts';

/** What calls are made of, and where they go. */
export interface Target {
  readonly method: RpcMethod;
  readonly dispatcher: Dispatcher;
  readonly limits: MultiplexLimits;
}

/** The answers of a streaming call, which begins when the first one is asked for. Leaving the loop early cancels it. */
export class StreamedAnswers implements AsyncIterableIterator<object>, Answers<object> {
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

  tellTo(listener: AnswerListener<object>): ToldCall {
    const told: ToldMessages<object> = new ToldMessages(
      this.#queueOptions(() => call),
      listener,
    );
    const call = this.#begin(told);
    this.#startAndSend(call);
    told.onBegun();
    return told;
  }

  next(): Promise<IteratorResult<object, undefined>> {
    if (this.#left) return Promise.resolve({ done: true, value: undefined });
    this.#queue ??= this.#beginQueue();
    return this.#queue.next();
  }

  return(): Promise<IteratorResult<object, undefined>> {
    this.#left = true;
    return this.#queue?.return() ?? Promise.resolve({ done: true, value: undefined });
  }

  #beginQueue(): MessageQueue<object> {
    const queue: MessageQueue<object> = new MessageQueue<object>(this.#queueOptions(() => call));
    const call = this.#begin(queue);
    this.#startAndSend(call);
    return queue;
  }

  #queueOptions(call: () => ClientCall): QueueOptions<object> {
    const { method, limits } = this.#target;
    return {
      windowBytes: limits.windowBytes,
      maxMessageBytes: limits.maxMessageBytes,
      grant: (bytes) => call().grant(bytes),
      decode: (message) => decodeAnswer(method, message),
      onLeave: () => call().abandon(),
    };
  }

  #begin(sink: AnswerSink): ClientCall {
    const { method, dispatcher } = this.#target;
    return new ClientCall(method.path, this.#options, sink, dispatcher);
  }

  #startAndSend(call: ClientCall): void {
    call.start();
    this.#send(call);
  }
}

function decodeAnswer(method: RpcMethod, message: Uint8Array): object {
  try {
    return method.decodeResponse(message);
  } catch (thrown) {
    throw new RpcError('internal', 'The answer could not be read.', { cause: thrown });
  }
}
