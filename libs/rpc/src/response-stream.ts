import { CallScope } from './call-scope.ts';
import type { CallOptions } from './service-types.ts';

/**
 * The responses of a streaming call as its caller reads them. The call begins with the first `next()`. It ends at once when
 * it is left, cancelled or late, also while a `next()` waits and whatever its source does then.
 */
export class ResponseStream<T> implements AsyncIterableIterator<T> {
  readonly #options: CallOptions;
  readonly #begin: (scope: CallScope) => AsyncIterator<T>;
  #call: { readonly scope: CallScope; readonly responses: AsyncIterator<T> } | undefined;
  #isOver = false;

  constructor(options: CallOptions, begin: (scope: CallScope) => AsyncIterator<T>) {
    this.#options = options;
    this.#begin = begin;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    if (this.#isOver) return done;
    try {
      this.#call ??= this.#start();
      const { scope, responses } = this.#call;
      const next = await scope.race(responses.next());
      if (this.#isOver) return done;
      if (!next.done) return next;
      this.#end();
      return done;
    } catch (thrown) {
      if (this.#isOver) return done;
      this.#end();
      throw thrown;
    }
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#end();
    return done;
  }

  #start() {
    const scope = new CallScope(this.#options);
    try {
      scope.signal.throwIfAborted();
      return { scope, responses: this.#begin(scope) };
    } catch (thrown) {
      scope[Symbol.dispose]();
      throw thrown;
    }
  }

  #end(): void {
    this.#isOver = true;
    this.#call?.scope[Symbol.dispose]();
    // Not awaited: a source that is still busy ends by its signal, and the caller has what it wanted.
    this.#call?.responses.return?.().catch(() => undefined);
  }
}

const done = { done: true, value: undefined } as const;
