interface Queue {
  taken: number;
  readonly waiting: Set<() => void>;
}

/** Lets so many go on at a time for each key; the others wait in order. */
export class Permits {
  readonly #limit: number;
  readonly #queues = new Map<string, Queue>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Resolves with a permit, to be disposed of; rejects with what `refusal` makes when `patience` aborts first, which is asked for
   * only when there is none at once.
   */
  async acquire(key: string, patience: () => AbortSignal, refusal: () => Error): Promise<Disposable> {
    const queue = this.#queues.get(key) ?? { taken: 0, waiting: new Set() };
    this.#queues.set(key, queue);
    if (queue.taken < this.#limit) queue.taken += 1;
    else await waitIn(queue, patience(), refusal);
    return { [Symbol.dispose]: () => this.#release(key, queue) };
  }

  /** The permit goes to the one that has waited longest. */
  #release(key: string, queue: Queue): void {
    const [next] = queue.waiting;
    if (next === undefined) queue.taken -= 1;
    else {
      queue.waiting.delete(next);
      next();
    }
    if (queue.taken === 0) this.#queues.delete(key);
  }
}

async function waitIn({ waiting }: Queue, signal: AbortSignal, refusal: () => Error): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  waiting.add(resolve);
  const refuse = () => {
    if (waiting.delete(resolve)) reject(refusal());
  };
  signal.addEventListener('abort', refuse, { once: true });
  if (signal.aborted) refuse();
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', refuse);
  }
}
