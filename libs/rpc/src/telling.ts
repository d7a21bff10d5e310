import type { AnswerListener } from './told-answers.ts';

/**
 * Tells the end of a call. What a listener throws then is its own fault and nobody's answer: it is thrown where nobody
 * catches it, as of any event's listener, and never into the work of whoever gives the answers.
 */
export function tellEnd(listener: AnswerListener<never>): void {
  try {
    listener.onEnd();
  } catch (thrown) {
    throwUncaught(thrown);
  }
}

/** As tellEnd, of a call that failed. */
export function tellFailure(listener: AnswerListener<never>, reason: unknown): void {
  try {
    listener.onFailure(reason);
  } catch (thrown) {
    throwUncaught(thrown);
  }
}

export function throwUncaught(thrown: unknown): void {
  queueMicrotask(() => {
    throw thrown;
  });
}
