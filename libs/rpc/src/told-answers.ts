/**
 * Is told the answers of a call, in order, as they come. Never while `tellTo` has not returned. When `onAnswer` throws, the
 * call is cancelled and `onFailure` is told what it threw, as a loop over the answers would end; what `onEnd` or
 * `onFailure` throw nobody catches.
 */
export interface AnswerListener<T> {
  onAnswer(answer: T): void;
  /** Every answer was told. Nothing follows. */
  onEnd(): void;
  /**
   * The call failed. Nothing follows. A failure of the service comes after the answers before it; one by the caller's own
   * signal or deadline at once, also while the call is paused.
   */
  onFailure(reason: unknown): void;
}

/** A call whose answers are told to a listener. */
export interface ToldCall {
  /** Nothing more is told from now on, also not that it has ended; a call that goes on is cancelled. */
  cancel(): void;
  /** No answers are told until `resume`, but for those that are on their way already: whoever gives them is held back. */
  pause(): void;
  resume(): void;
}

/**
 * The answers of a streaming call. Whoever reads them waits for each, or has them told, which costs no promise for each: one of
 * both, once.
 */
export interface Answers<T> extends AsyncIterable<T> {
  /** Begins the call. */
  tellTo(listener: AnswerListener<T>): ToldCall;
}

/** True for answers that their handler can tell by itself. */
export function canTell<T>(answers: AsyncIterable<T>): answers is Answers<T> {
  return 'tellTo' in answers;
}
