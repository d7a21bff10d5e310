import { deadlines, type Expiring } from './deadlines.ts';
import { callCancelled, callEnded, deadlineExceeded, type RpcError } from './errors.ts';
import type { CallContext, Caller, ServedCallOptions } from './service-types.ts';

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
export class Call<T, S = unknown> implements AsyncIterableIterator<T, undefined>, CallContext, Expiring {
  readonly #options: ServedCallOptions;
  readonly #responses: CallSource<T, S>;
  #controller: AbortController | undefined;
  /** Why it is over. */
  #reason: RpcError | undefined;
  #source: AsyncIterator<S> | undefined;
  #rejectNext: ((reason: unknown) => void) | undefined;
  #hasEnded = false;
  deadlineMs = Number.POSITIVE_INFINITY;

  constructor(options: ServedCallOptions, responses: CallSource<T, S>) {
    this.#options = options;
    this.#responses = responses;
  }

  /** Made when it is asked for. Aborted with an RpcError when the caller gives the call up, its deadline passes, or the call has ended. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  get caller(): Caller | undefined {
    return this.#options.caller;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    if (this.#hasEnded) return done;
    try {
      this.#source ??= this.#start();
      const result = await this.#unlessAborted(this.#source.next());
      if (result.done || this.#hasEnded) return this.return();
      return { done: false, value: this.#responses.toResponse(result.value) };
    } catch (thrown) {
      if (this.#hasEnded) return done;
      this.#responses.onThrown?.(thrown, this);
      void this.return();
      throw thrown;
    }
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#hasEnded = true;
    deadlines.delete(this);
    this.#options.signal?.removeEventListener('abort', this.cancel);
    this.#abort(callEnded);
    // Not awaited: a source that is still busy ends by its signal, and the caller has what it wanted.
    this.#source?.return?.().catch(() => undefined);
    return done;
  }

  expire(): void {
    this.#abort(deadlineExceeded(this.#options.timeoutMs));
  }

  #start(): AsyncIterator<S> {
    const { signal, timeoutMs } = this.#options;
    if (signal?.aborted) this.cancel();
    if (this.#reason !== undefined) throw this.#reason;
    signal?.addEventListener('abort', this.cancel, { once: true });
    if (timeoutMs !== undefined) {
      this.deadlineMs = performance.now() + timeoutMs;
      deadlines.add(this);
    }
    return this.#responses.begin(this)[Symbol.asyncIterator]();
  }

  /** What comes of `work`. When the call is aborted first, that is thrown, and the outcome of the work is ignored. */
  #unlessAborted<R>(work: Promise<R>): Promise<R> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      this.#rejectNext = reject;
      if (this.#reason !== undefined) reject(this.#reason);
    });
  }

  /** The caller gives the call up. */
  readonly cancel = (): void => this.#abort(callCancelled());

  #abort(reason: RpcError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#rejectNext?.(reason);
  }
}

const done = { done: true, value: undefined } as const;
