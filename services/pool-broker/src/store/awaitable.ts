/**
 * What a store answers: at once where it is memory, else later. Awaiting the former as well would cost the broker of a single
 * process a dozen promises a request, more than all that it decides.
 */
export type Awaitable<T> = T | Promise<T>;

/** Goes on with an answer: at once when it is there. */
export function whenThere<T, R>(answer: Awaitable<T>, goOn: (answer: T) => Awaitable<R>): Awaitable<R> {
  return answer instanceof Promise ? answer.then(goOn) : goOn(answer);
}

/** All answers, at once when all are there. */
export function allThere<T>(answers: readonly Awaitable<T>[]): Awaitable<readonly T[]> {
  return answers.every(isThere) ? answers : Promise.all(answers);
}

/** Whether an answer is there already. */
export function isThere<T>(answer: Awaitable<T>): answer is Exclude<T, Promise<unknown>> {
  return !(answer instanceof Promise);
}
