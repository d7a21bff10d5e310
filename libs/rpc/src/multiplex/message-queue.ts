import { costOf, windowBytes } from './credit.ts';

/** Messages of a call that have come and wait to be read. Its reader's pace gives the sender its credit. */
export class MessageQueue implements AsyncIterableIterator<Uint8Array> {
  readonly #grant: (bytes: number) => void;
  readonly #messages: Uint8Array[] = [];
  #reader: PromiseWithResolvers<IteratorResult<Uint8Array, undefined>> | undefined;
  #end: { readonly failure?: unknown } | undefined;
  #waitingBytes = 0;
  #takenBytes = 0;

  /** `grant` is called with the bytes that were taken since the last time: the sender may send as many more. */
  constructor(grant: (bytes: number) => void) {
    this.#grant = grant;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** False when the sender goes beyond its credit by more than one message. */
  push(message: Uint8Array): boolean {
    if (this.#end !== undefined) return true;
    if (this.#waitingBytes > windowBytes) return false;
    this.#waitingBytes += costOf(message);
    if (this.#reader === undefined) this.#messages.push(message);
    else this.#takeReader()?.resolve({ done: false, value: this.#taken(message) });
    return true;
  }

  /** No message follows. A failure is thrown to the reader, after the messages before it. */
  end(end: { readonly failure?: unknown } = {}): void {
    this.#end ??= end;
    const reader = this.#takeReader();
    if (reader === undefined) return;
    if ('failure' in this.#end) reader.reject(this.#end.failure);
    else reader.resolve(done);
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const message = this.#messages.shift();
    if (message !== undefined) return { done: false, value: this.#taken(message) };
    if (this.#end === undefined) {
      this.#reader = Promise.withResolvers();
      return this.#reader.promise;
    }
    const { failure } = this.#end;
    const hasFailed = 'failure' in this.#end;
    this.#end = {};
    if (hasFailed) throw failure;
    return done;
  }

  /** The reader leaves: what still comes is dropped. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#messages.length = 0;
    this.#end = {};
    this.#takeReader()?.resolve(done);
    return done;
  }

  #taken(message: Uint8Array): Uint8Array {
    const bytes = costOf(message);
    this.#waitingBytes -= bytes;
    this.#takenBytes += bytes;
    // In large steps: a grant is a frame.
    if (this.#takenBytes >= windowBytes / 2 && this.#end === undefined) {
      this.#grant(this.#takenBytes);
      this.#takenBytes = 0;
    }
    return message;
  }

  #takeReader() {
    const reader = this.#reader;
    this.#reader = undefined;
    return reader;
  }
}

const done = { done: true, value: undefined } as const;
