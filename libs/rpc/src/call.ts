import { callEnded, type RpcError } from './errors.ts';
import { RunningCall } from './running-call.ts';
import type { CallContext, ServedCallOptions } from './service-types.ts';

/** How a call comes by its responses. */
export interface CallSource<T, S> {
  begin(context: CallContext): AsyncIterable<S>;
  /** What the caller gets of a response of the source. */
  toResponse(response: S): T;
  /** The source, or `toResponse`, has thrown. */
  onThrown?(thrown: unknown, context: CallContext): void;
}

/**
 * One call, and its responses as they are read, one `next()` at a time. It begins with the first. It ends at once when it is
 * left, cancelled or late, also while a `next()` waits and whatever its source does then.
 */
export class Call<T, S = unknown> extends RunningCall implements AsyncIterableIterator<T, undefined> {
  readonly #responses: CallSource<T, S>;
  #source: AsyncIterator<S> | undefined;
  #rejectNext: ((reason: unknown) => void) | undefined;
  /** The caller has read its end, or has left it. */
  #isRead = false;

  constructor(options: ServedCallOptions, responses: CallSource<T, S>) {
    super(options);
    this.#responses = responses;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    if (this.#isRead) return done;
    try {
      this.#source ??= this.#start();
      const result = await this.#unlessFailed(this.#source.next());
      if (result.done || this.#isRead) return this.return();
      return { done: false, value: this.#responses.toResponse(result.value) };
    } catch (thrown) {
      if (this.#isRead) return done;
      this.#responses.onThrown?.(thrown, this);
      void this.return();
      throw thrown;
    }
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#isRead = true;
    this.end(callEnded);
    this.#rejectNext?.(callEnded);
    // Not awaited: a source that is still busy ends by its signal, and the caller has what it wanted.
    this.#source?.return?.().catch(() => undefined);
    return done;
  }

  protected override onFailed(reason: RpcError): void {
    this.#rejectNext?.(reason);
  }

  #start(): AsyncIterator<S> {
    this.begin();
    return this.#responses.begin(this)[Symbol.asyncIterator]();
  }

  /** What comes of `work`. When the call fails first, that is thrown, and the outcome of the work is ignored. */
  #unlessFailed<R>(work: Promise<R>): Promise<R> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      this.#rejectNext = reject;
      if (this.reason !== undefined) reject(this.reason);
    });
  }
}

const done = { done: true, value: undefined } as const;
