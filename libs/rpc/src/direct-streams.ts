import type { DescMessage, Message } from '@bufbuild/protobuf';
import { completeMessage } from './complete-message.ts';
import { DirectCall } from './direct-call.ts';
import { DirectToldCall } from './direct-told-call.ts';
import type { CallContext, CallOptions } from './service-types.ts';
import type { AnswerListener, Answers, ToldCall } from './told-answers.ts';

type Begin = (context: CallContext) => AsyncIterable<object>;

/** The answers of a handler that streams. What it takes to wait for them is made for whoever waits: most have them told. */
export class DirectAnswers implements Answers<Message> {
  readonly #output: DescMessage;
  readonly #options: CallOptions;
  readonly #begin: Begin;
  #reading: DirectReading | undefined;

  constructor(output: DescMessage, options: CallOptions, begin: Begin) {
    this.#output = output;
    this.#options = options;
    this.#begin = begin;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Message> {
    this.#reading ??= new DirectReading(this.#output, this.#options, this.#begin);
    return this.#reading;
  }

  tellTo(listener: AnswerListener<Message>): ToldCall {
    const call = new DirectToldCall(this.#output, this.#options, listener);
    call.begin(this.#begin);
    return call;
  }
}

/**
 * The answers of a handler, one after the other; it begins when the first one is asked for. Leaving the loop early aborts the
 * handler's signal, as a cancelled call would. Written out instead of as a generator: one promise per message less.
 */
class DirectReading implements AsyncIterableIterator<Message> {
  readonly #output: DescMessage;
  readonly #call: DirectCall;
  readonly #begin: Begin;
  #answers: AsyncIterator<object> | undefined;
  #reader: Reader | undefined;
  /** What the next reader is told, when the call failed while nobody read. */
  #failure: { readonly reason: unknown } | undefined;

  constructor(output: DescMessage, options: CallOptions, begin: Begin) {
    this.#output = output;
    this.#begin = begin;
    this.#call = new DirectCall(options, (reason) => this.#fail(reason));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Message, undefined>> {
    if (this.#reader !== undefined) return this.#afterReader(this.#reader.promise);
    if (this.#answers === undefined && !this.#call.isOver) this.#start();
    if (this.#call.isOver) return this.#afterEnd();
    this.#reader = Promise.withResolvers();
    this.#answers?.next().then(this.#onNext, this.#onThrown);
    return this.#reader.promise;
  }

  return(): Promise<IteratorResult<Message, undefined>> {
    this.#failure = undefined;
    this.#leave();
    this.#takeReader()?.resolve(done);
    return Promise.resolve(done);
  }

  #start(): void {
    this.#call.start();
    if (this.#call.isOver) return;
    try {
      this.#answers = this.#begin(this.#call.context)[Symbol.asyncIterator]();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  readonly #onNext = (next: IteratorResult<object, unknown>): void => {
    const reader = this.#takeReader();
    // The call was given up meanwhile: its reader knows.
    if (reader === undefined) return;
    if (next.done) {
      this.#call.end();
      return reader.resolve(done);
    }
    try {
      reader.resolve({ done: false, value: completeMessage(this.#output, next.value) });
    } catch (thrown) {
      this.#leave();
      reader.reject(thrown);
    }
  };

  readonly #onThrown = (thrown: unknown): void => {
    // Also after the end: a handler that fails then fails for nobody, which must not end the process.
    this.#call.end();
    this.#takeReader()?.reject(thrown);
  };

  #fail(reason: unknown): void {
    this.#leave();
    const reader = this.#takeReader();
    if (reader === undefined) this.#failure = { reason };
    else reader.reject(reason);
  }

  #leave(): void {
    this.#call.end();
    // Not awaited: a handler that is still busy ends by its signal, and the caller has what it wanted.
    this.#answers?.return?.().then(undefined, () => undefined);
    this.#answers = undefined;
  }

  #takeReader(): Reader | undefined {
    const reader = this.#reader;
    this.#reader = undefined;
    return reader;
  }

  async #afterReader(reader: Promise<unknown>): Promise<IteratorResult<Message, undefined>> {
    await reader.catch(() => undefined);
    return this.next();
  }

  async #afterEnd(): Promise<IteratorResult<Message, undefined>> {
    const failure = this.#failure;
    // A failure is told once, as by a generator.
    this.#failure = undefined;
    if (failure !== undefined) throw failure.reason;
    return done;
  }
}

/** The messages of a caller as its handler reads them. */
export class DirectRequests implements AsyncIterableIterator<Message> {
  readonly #requests: AsyncIterator<object>;
  readonly #input: DescMessage;

  constructor(input: DescMessage, requests: AsyncIterable<object>) {
    this.#input = input;
    this.#requests = requests[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Message, undefined>> {
    return this.#requests.next().then(this.#complete);
  }

  async return(): Promise<IteratorResult<Message, undefined>> {
    await this.#requests.return?.();
    return done;
  }

  readonly #complete = (next: IteratorResult<object, unknown>): IteratorResult<Message, undefined> =>
    next.done ? done : { done: false, value: completeMessage(this.#input, next.value) };
}

type Reader = PromiseWithResolvers<IteratorResult<Message, undefined>>;

const done: IteratorReturnResult<undefined> = { done: true, value: undefined };
