import { RpcError } from './errors.ts';
import type { CallContext, Caller, ServedCallOptions } from './service-types.ts';

/**
 * One call, and its responses as they are read, one `next()` at a time. It begins with the first. It ends at once when it is
 * left, cancelled or late, also while a `next()` waits and whatever its source does then.
 */
export class Call<T> implements AsyncIterableIterator<T, undefined>, CallContext {
  readonly #options: ServedCallOptions;
  readonly #begin: (context: CallContext) => AsyncIterable<T>;
  #controller: AbortController | undefined;
  /** Why it is over. */
  #reason: RpcError | undefined;
  #source: AsyncIterator<T> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #rejectNext: ((reason: unknown) => void) | undefined;
  #hasEnded = false;

  /** @param begin gives the responses. */
  constructor(options: ServedCallOptions, begin: (context: CallContext) => AsyncIterable<T>) {
    this.#options = options;
    this.#begin = begin;
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
      return result.done || this.#hasEnded ? this.return() : result;
    } catch (thrown) {
      if (this.#hasEnded) return done;
      void this.return();
      throw thrown;
    }
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener('abort', this.cancel);
    this.#abort(callEnded);
    // Not awaited: a source that is still busy ends by its signal, and the caller has what it wanted.
    this.#source?.return?.().catch(() => undefined);
    return done;
  }

  #start(): AsyncIterator<T> {
    const { signal, timeoutMs } = this.#options;
    if (signal?.aborted) this.cancel();
    if (this.#reason !== undefined) throw this.#reason;
    signal?.addEventListener('abort', this.cancel, { once: true });
    if (timeoutMs !== undefined) {
      const tooLate = () => new RpcError('deadline_exceeded', `The call took longer than ${timeoutMs} ms.`);
      // Timers run before the network is read: an answer that came while this process stood still is in time.
      this.#timer = setTimeout(() => setImmediate(() => this.#abort(tooLate())), timeoutMs);
    }
    return this.#begin(this)[Symbol.asyncIterator]();
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
  readonly cancel = (): void => this.#abort(new RpcError('cancelled', 'The caller cancelled the call.'));

  #abort(reason: RpcError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#rejectNext?.(reason);
  }
}

const done = { done: true, value: undefined } as const;
const callEnded = new RpcError('cancelled', 'The call has ended.');
