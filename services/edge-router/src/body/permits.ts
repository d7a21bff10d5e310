interface Queue {
  taken: number;
  readonly waiting: Set<() => void>;
}

/** A semaphore for each key: so many permits at a time, given in order. */
export class Permits {
  readonly #limit: number;
  readonly #queues = new Map<string, Queue>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Resolves with a permit, to be disposed of; rejects with what `refusal` makes when `patience` aborts first, which is made only
   * when no permit is free.
   */
  async acquire(key: string, patience: () => AbortSignal, refusal: () => Error): Promise<Disposable> {
    const queue = this.#queues.get(key) ?? { taken: 0, waiting: new Set() };
    this.#queues.set(key, queue);
    if (queue.taken < this.#limit) queue.taken += 1;
    else await nextOf(queue, patience(), refusal);
    return { [Symbol.dispose]: () => this.#release(key, queue) };
  }

  /** The permit goes to the one that has waited longest. */
  #release(key: string, queue: Queue): void {
    const [next] = queue.waiting;
    if (next === undefined) queue.taken -= 1;
    else next();
    if (queue.taken === 0) this.#queues.delete(key);
  }
}

async function nextOf({ waiting }: Queue, signal: AbortSignal, refusal: () => Error): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const grant = () => {
    waiting.delete(grant);
    resolve();
  };
  const refuse = () => {
    if (waiting.delete(grant)) reject(refusal());
  };
  waiting.add(grant);
  signal.addEventListener('abort', refuse, { once: true });
  if (signal.aborted) refuse();
  await promise.finally(() => signal.removeEventListener('abort', refuse));
}
