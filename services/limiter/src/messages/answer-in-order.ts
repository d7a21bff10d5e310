export interface AnswerInOrderOptions<I, O> {
  readonly requests: AsyncIterable<I>;
  readonly answer: (request: I) => Promise<O>;
  /** How many requests are worked on at once; no more are read meanwhile. */
  readonly maxAtOnce: number;
  /** Aborted: no more are read, what was read is answered, then it ends. */
  readonly stopping: AbortSignal;
}

/** Works on requests as they come in, several at once, and gives the answers in the order of the requests. */
export async function* answerInOrder<I, O>(options: AnswerInOrderOptions<I, O>): AsyncGenerator<O> {
  const { requests, answer, maxAtOnce, stopping } = options;
  const source = requests[Symbol.asyncIterator]();
  const stopped = whenAborted(stopping);
  const answers: Promise<O>[] = [];
  let reading: Promise<Read<I>> | undefined = read(source, stopped.promise);
  try {
    while (reading !== undefined || answers.length > 0) {
      const event = await firstOf(answers[0], answers.length < maxAtOnce ? reading : undefined);
      if (event.kind === 'answered') {
        answers.shift();
        yield event.answer;
      } else if (event.kind === 'request') {
        answers.push(handled(answer(event.request)));
        reading = read(source, stopped.promise);
      } else {
        reading = undefined;
      }
    }
  } finally {
    stopped.release();
    // Not awaited: a source that is waiting for its caller would hold up the end.
    source.return?.().then(undefined, () => undefined);
  }
}

type Read<I> = { readonly kind: 'request'; readonly request: I } | { readonly kind: 'end' };
type Answered<O> = { readonly kind: 'answered'; readonly answer: O };

async function read<I>(source: AsyncIterator<I>, stopped: Promise<{ readonly kind: 'end' }>): Promise<Read<I>> {
  const next = source
    .next()
    .then(({ done, value }): Read<I> => (done ? { kind: 'end' } : { kind: 'request', request: value }));
  return handled(Promise.race([next, stopped]));
}

/** Whichever is there first; the answer when both are, so that answers never wait for the next request. */
function firstOf<I, O>(
  answer: Promise<O> | undefined,
  reading: Promise<Read<I>> | undefined,
): Promise<Answered<O> | Read<I>> {
  const events: Promise<Answered<O> | Read<I>>[] = [];
  if (answer !== undefined) events.push(answer.then((value) => ({ kind: 'answered', answer: value })));
  if (reading !== undefined) events.push(reading);
  return Promise.race(events);
}

/** A failure counts when its turn comes, not before. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function whenAborted(signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<{ readonly kind: 'end' }>();
  const stop = () => resolve({ kind: 'end' });
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  return { promise, release: () => signal.removeEventListener('abort', stop) };
}
