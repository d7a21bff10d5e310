import { windowCost } from './frames.ts';
import { MessageAssembly, ReceiveWindow, withoutItsBatch } from './message-assembly.ts';

export interface QueueOptions<T> {
  readonly windowBytes: number;
  readonly maxMessageBytes: number;
  readonly grant: (bytes: number) => void;
  readonly decode: (message: Uint8Array) => T;
  /** The reader has left before the last message. */
  readonly onLeave: () => void;
}

/**
 * The messages of one call as its reader takes them. What it does not take counts against the window, so that the
 * sender pauses. Messages that came before the end, or before a failure, are read first.
 */
export class MessageQueue<T> implements AsyncIterableIterator<T> {
  readonly #options: QueueOptions<T>;
  readonly #window: ReceiveWindow;
  readonly #assembly: MessageAssembly;
  #messages: Queued[] = [];
  #readers: Reader<T>[] = [];
  /** Cost of pieces whose message is not complete yet. */
  #partCost = 0;
  #end: { readonly failure?: Error } | undefined;

  constructor(options: QueueOptions<T>) {
    this.#options = options;
    this.#window = new ReceiveWindow(options.windowBytes, options.grant);
    this.#assembly = new MessageAssembly(options.maxMessageBytes);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const queued = this.#messages.shift();
    if (queued !== undefined) return this.#take(queued);
    if (this.#end !== undefined) return this.#afterEnd();
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject });
      this.#releaseParts();
    });
  }

  /** Every message, when all are there already; undefined when some must be waited for. Nothing is left to read then. */
  takeAll(): T[] | undefined {
    if (this.#end === undefined || this.#end.failure !== undefined) return undefined;
    const messages = this.#messages.map(({ message }) => this.#options.decode(message));
    this.#messages = [];
    return messages;
  }

  /** The reader leaves the loop. */
  return(): Promise<IteratorResult<T, undefined>> {
    this.#leave();
    return Promise.resolve(done);
  }

  onPiece(piece: Uint8Array, isLastPiece: boolean): void {
    if (this.#end !== undefined) return;
    this.#window.onReceived(piece.length);
    this.#partCost += windowCost(piece.length);
    const message = this.#assembly.add(piece, isLastPiece);
    if (message !== undefined) this.#onMessage(message);
    else if (this.#readers.length > 0) this.#releaseParts();
  }

  onEnd(): void {
    this.#finish({});
  }

  onFailure(failure: Error): void {
    this.#finish({ failure });
  }

  /** Ends the call for its reader at once: what waits is dropped. */
  abort(failure: Error): void {
    if (this.#end === undefined || this.#messages.length > 0) this.#drop({ failure });
  }

  #onMessage(message: Uint8Array): void {
    const cost = this.#partCost;
    this.#partCost = 0;
    const reader = this.#readers.shift();
    if (reader === undefined) this.#messages.push({ message: withoutItsBatch(message), cost });
    else this.#give(reader, message, cost);
  }

  #give(reader: Reader<T>, message: Uint8Array, cost: number): void {
    try {
      reader.resolve({ done: false, value: this.#options.decode(message) });
      this.#window.onTaken(cost);
    } catch (thrown) {
      this.#leave();
      reader.reject(thrown);
    }
  }

  async #take({ message, cost }: Queued): Promise<IteratorResult<T, undefined>> {
    try {
      const value = this.#options.decode(message);
      if (this.#end === undefined) this.#window.onTaken(cost);
      return { done: false, value };
    } catch (thrown) {
      this.#leave();
      throw thrown;
    }
  }

  /** A reader that waits takes pieces as they come: a message larger than the window would never be complete otherwise. */
  #releaseParts(): void {
    if (this.#partCost === 0) return;
    const cost = this.#partCost;
    this.#partCost = 0;
    this.#window.onTaken(cost);
  }

  async #afterEnd(): Promise<IteratorResult<T, undefined>> {
    const failure = this.#end?.failure;
    // A failure is told once, as by a generator.
    this.#end = {};
    if (failure !== undefined) throw failure;
    return done;
  }

  #finish(end: { readonly failure?: Error }): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    const readers = this.#readers;
    this.#readers = [];
    for (const { resolve, reject } of readers) {
      // The first reader is told of a failure, the others that there is nothing more.
      const failure = this.#end.failure;
      this.#end = {};
      if (failure === undefined) resolve(done);
      else reject(failure);
    }
  }

  #leave(): void {
    const early = this.#end === undefined;
    this.#drop({});
    if (early) this.#options.onLeave();
  }

  #drop(end: { readonly failure?: Error }): void {
    this.#messages = [];
    this.#end = undefined;
    this.#finish(end);
  }
}

interface Queued {
  readonly message: Uint8Array;
  readonly cost: number;
}

interface Reader<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(reason: unknown): void;
}

const done: IteratorReturnResult<undefined> = { done: true, value: undefined };
