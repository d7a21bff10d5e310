import { callEnded, type RpcError } from './errors.ts';
import { RunningCall } from './running-call.ts';
import type { CallContext, ServedCallOptions } from './service-types.ts';

/** How a call obtains its responses. */
export interface CallSource<T, S> {
  begin(context: CallContext): AsyncIterable<S>;
  /** Converts a response of the source to what the caller receives. */
  toResponse(response: S): T;
  /** Called when the source, or `toResponse`, throws. */
  onThrown?(thrown: unknown, context: CallContext): void;
}

/**
 * One call and its responses, read one `next()` at a time. The first `next()` starts the call. It
 * ends at once when its caller leaves the loop or cancels, or when its deadline passes, even while
 * a `next()` is pending and whatever its source does.
 */
export class Call<T, S = unknown> extends RunningCall implements AsyncIterableIterator<T, undefined> {
  readonly #responses: CallSource<T, S>;
  #source: AsyncIterator<S> | undefined;
  #rejectNext: ((reason: unknown) => void) | undefined;
  /** The caller has read to the end or has left the loop. */
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
    // Not awaited: a busy source ends by its signal, and the caller already has what it wanted.
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

  /**
   * The result of `work`, unless the call fails first: then this throws the failure and ignores the
   * work.
   */
  #unlessFailed<R>(work: Promise<R>): Promise<R> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      this.#rejectNext = reject;
      if (this.reason !== undefined) reject(this.reason);
    });
  }
}

const done = { done: true, value: undefined } as const;
