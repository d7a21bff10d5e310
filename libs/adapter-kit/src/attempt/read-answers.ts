import type { AnswerListener, Answers, ToldCall } from '@gateway/rpc';

/** An answer, or several, with the room that they take. */
export interface AnswerReading<T> {
  readonly answers: Pick<Answers<T>, 'tellTo'>;
  readonly bytesOf: (answer: T) => number;
  /** Read once, with the first `next`. Aborting it leaves the call. */
  readonly signal: () => AbortSignal;
}

/**
 * Told answers for whoever waits for each. The call begins with the first `next`; leaving it ends the call at once, also
 * while a `next` waits. Answers that nobody has asked for yet are queued up to a bound; then the call is paused.
 */
export class ReadAnswers<T> implements AsyncIterableIterator<T>, AnswerListener<T> {
  readonly #reading: AnswerReading<T>;
  #call: ToldCall | undefined;
  #queue: T[] = [];
  #queuedBytes = 0;
  #reader: PromiseWithResolvers<IteratorResult<T, undefined>> | undefined;
  #isOver = false;
  #failure: { readonly reason: unknown } | undefined;
  #signal: AbortSignal | undefined;

  constructor(reading: AnswerReading<T>) {
    this.#reading = reading;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    // One reader at a time, as of a generator.
    while (this.#reader !== undefined) await this.#reader.promise.catch(() => undefined);
    this.#begin();
    const [first] = this.#queue;
    if (first !== undefined) return { done: false, value: this.#taken(first) };
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.reason;
    if (this.#isOver) return over;
    this.#reader = Promise.withResolvers();
    return this.#reader.promise;
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#leave();
    return over;
  }

  onAnswer(answer: T): void {
    const reader = this.#takeReader();
    if (reader !== undefined) return reader.resolve({ done: false, value: answer });
    this.#queue.push(answer);
    this.#queuedBytes += this.#reading.bytesOf(answer);
    if (this.#queuedBytes >= maxQueuedBytes) this.#call?.pause();
  }

  onEnd(): void {
    this.#end();
    this.#takeReader()?.resolve(over);
  }

  onFailure(reason: unknown): void {
    this.#end();
    const reader = this.#takeReader();
    if (reader === undefined) this.#failure = { reason };
    else reader.reject(reason);
  }

  #begin(): void {
    if (this.#isOver || this.#call !== undefined) return;
    this.#signal = this.#reading.signal();
    if (this.#signal.aborted) return this.#end();
    this.#signal.addEventListener('abort', this.#leave, { once: true });
    this.#call = this.#reading.answers.tellTo(this);
  }

  #taken(answer: T): T {
    this.#queue.shift();
    this.#queuedBytes -= this.#reading.bytesOf(answer);
    if (this.#queue.length === 0) this.#call?.resume();
    return answer;
  }

  readonly #leave = (): void => {
    this.#end();
    this.#queue = [];
    this.#failure = undefined;
    this.#call?.cancel();
    this.#takeReader()?.resolve(over);
  };

  #end(): void {
    this.#isOver = true;
    this.#signal?.removeEventListener('abort', this.#leave);
  }

  #takeReader(): PromiseWithResolvers<IteratorResult<T, undefined>> | undefined {
    const reader = this.#reader;
    this.#reader = undefined;
    return reader;
  }
}

const over: IteratorReturnResult<undefined> = { done: true, value: undefined };
const maxQueuedBytes = 64 * 1024;
