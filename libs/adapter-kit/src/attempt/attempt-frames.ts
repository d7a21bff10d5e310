import type { Attempt, ExecuteFrame } from './attempt.ts';

/**
 * The frames of an attempt as the caller of Execute takes them. Leaving them early ends the attempt at once, also while a
 * frame is waited for; an async generator would wait for the frame first, and take some turns more for each.
 */
export class AttemptFrames implements AsyncIterableIterator<ExecuteFrame> {
  readonly #begin: () => Promise<Attempt>;
  #attempt: Attempt | undefined;
  #isOver = false;

  /** `begin` is called with the first frame that is asked for. */
  constructor(begin: () => Promise<Attempt>) {
    this.#begin = begin;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<ExecuteFrame, undefined>> {
    if (this.#isOver) return over;
    try {
      this.#attempt ??= await this.#begin();
      const frame = this.#isOver ? undefined : await this.#attempt.nextFrame();
      if (frame !== undefined) return { done: false, value: frame };
    } catch (thrown) {
      this.#end();
      throw thrown;
    }
    this.#end();
    return over;
  }

  async return(): Promise<IteratorResult<ExecuteFrame, undefined>> {
    this.#end();
    return over;
  }

  #end(): void {
    this.#isOver = true;
    this.#attempt?.[Symbol.dispose]();
  }
}

const over: IteratorResult<never, undefined> = { done: true, value: undefined };
