import { type AnswerListener, type Answers, canTell, type ToldCall } from './told-answers.ts';

/** Answers that are told although whoever gives them can only be asked for one after the other. */
export function answersOf<T>(answers: AsyncIterable<T>): Answers<T> {
  return {
    [Symbol.asyncIterator]: () => answers[Symbol.asyncIterator](),
    tellTo: (listener) => new AnswerPump(answers, listener),
  };
}

/** Has a listener, which must not throw, told a handler's answers: by the handler itself where it can tell them. */
export function tellAll<T>(answers: AsyncIterable<T>, listener: AnswerListener<T>): ToldCall {
  return canTell(answers) ? answers.tellTo(listener) : new AnswerPump(answers, listener);
}

/**
 * Asks for answers, one when the one before was told, and tells them. The answer that was asked for when its listener
 * pauses is still told. The listener must not throw.
 */
class AnswerPump<T> implements ToldCall {
  readonly #answers: AsyncIterator<T>;
  readonly #listener: AnswerListener<T>;
  #isAsking = false;
  #isPaused = false;
  #isOver = false;

  constructor(answers: AsyncIterable<T>, listener: AnswerListener<T>) {
    this.#answers = answers[Symbol.asyncIterator]();
    this.#listener = listener;
    this.#ask();
  }

  cancel(): void {
    this.#isOver = true;
    // Not awaited: whoever is still busy ends by its signal.
    this.#answers.return?.().then(undefined, () => undefined);
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#askForMore();
  }

  #askForMore(): void {
    if (!this.#isAsking && !this.#isPaused && !this.#isOver) this.#ask();
  }

  #ask(): void {
    this.#isAsking = true;
    this.#answers.next().then(this.#onNext, this.#onThrown);
  }

  readonly #onNext = (next: IteratorResult<T, unknown>): void => {
    this.#isAsking = false;
    if (this.#isOver) return;
    if (next.done) {
      this.#isOver = true;
      return this.#listener.onEnd();
    }
    this.#listener.onAnswer(next.value);
    this.#askForMore();
  };

  readonly #onThrown = (thrown: unknown): void => {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.onFailure(thrown);
  };
}
