import { RpcError } from './errors.ts';
import type { CallContext, CallOptions } from './service-types.ts';

/** The lifetime of one call: its caller's signal and deadline, and the signal of all that works on it. */
export class CallScope implements CallContext, Disposable {
  #controller: AbortController | undefined;
  /** Why the call is over. */
  #reason: RpcError | undefined;
  readonly #options: CallOptions;
  #isWatched = false;
  #timer: NodeJS.Timeout | undefined;
  #rejectWait: ((reason: unknown) => void) | undefined;

  constructor(options: CallOptions = {}) {
    this.#options = options;
    if (options.signal?.aborted) this.cancel();
  }

  /** Made when it is asked for. Aborted with an RpcError when the caller gives the call up, its deadline passes, or the call has ended. */
  get signal(): AbortSignal {
    this.#watch();
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** The caller gives the call up. */
  readonly cancel = (): void => this.#abort(new RpcError('cancelled', 'The caller cancelled the call.'));

  /**
   * What comes of `work`. When the call is given up first, that is thrown, and the outcome of the work is ignored. One
   * `race` at a time.
   */
  race<T>(work: Promise<T>): Promise<T> {
    this.#watch();
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      this.#rejectWait = reject;
      if (this.#reason !== undefined) reject(this.#reason);
    });
  }

  throwIfOver(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** The call has ended. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener('abort', this.cancel);
    this.#abort(callEnded);
  }

  /** Once the signal is asked for, or the call waits: what ends at once costs no timer and no listener. */
  #watch(): void {
    if (this.#isWatched || this.#reason !== undefined) return;
    this.#isWatched = true;
    const { signal, timeoutMs } = this.#options;
    if (signal?.aborted) return this.cancel();
    signal?.addEventListener('abort', this.cancel, { once: true });
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.#abort(tooLate(timeoutMs)), timeoutMs);
  }

  #abort(reason: RpcError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#rejectWait?.(reason);
  }
}

const callEnded = new RpcError('cancelled', 'The call has ended.');

function tooLate(timeoutMs: number): RpcError {
  return new RpcError('deadline_exceeded', `The call took longer than ${timeoutMs} ms.`);
}

/**
 * The responses of a streaming call as its caller reads them, one `next()` at a time. The call begins with the first. It ends
 * at once when it is left, cancelled or late, also while a `next()` waits and whatever its source does then.
 */
export class ResponseStream<S, T> implements AsyncIterableIterator<T, undefined> {
  readonly #options: CallOptions;
  readonly #begin: (scope: CallScope) => AsyncIterable<S>;
  readonly #toResponse: (value: S) => T;
  #scope: CallScope | undefined;
  #source: AsyncIterator<S> | undefined;
  #isOver = false;

  constructor(options: CallOptions, begin: (scope: CallScope) => AsyncIterable<S>, toResponse: (value: S) => T) {
    this.#options = options;
    this.#begin = begin;
    this.#toResponse = toResponse;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    if (this.#isOver) return done;
    try {
      this.#scope ??= new CallScope(this.#options);
      this.#source ??= this.#start(this.#scope);
      const next = await this.#scope.race(this.#source.next());
      if (this.#isOver) return done;
      if (!next.done) return { done: false, value: this.#toResponse(next.value) };
      return this.return();
    } catch (thrown) {
      if (this.#isOver) return done;
      this.return();
      throw thrown;
    }
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#isOver = true;
    this.#scope?.[Symbol.dispose]();
    // Not awaited: a source that is still busy ends by its signal, and the caller has what it wanted.
    this.#source?.return?.().catch(() => undefined);
    return done;
  }

  #start(scope: CallScope): AsyncIterator<S> {
    scope.throwIfOver();
    return this.#begin(scope)[Symbol.asyncIterator]();
  }
}

const done = { done: true, value: undefined } as const;
