import { AsyncLocalStorage } from 'node:async_hooks';

type Query<Answer> = () => Promise<Answer>;

/**
 * Runs one query at a time for each key. Callers that ask during a query share the next one, which
 * starts after they asked. So each answer includes everything that was true when it was requested,
 * and a key costs at most one query at a time, whatever the number of callers. A failed query fails
 * for those who share it, and the next one runs anyway.
 */
export class SharedQueries<Answer> {
  readonly #runs = new Map<string, Run<Answer>>();

  /** Among callers that share a query, the last caller's query runs, because it knows the most. */
  ask(key: string, query: Query<Answer>): Promise<Answer> {
    const run = this.#runs.get(key);
    if (run === undefined) return this.#run(key, query);
    run.next ??= { ...Promise.withResolvers<Answer>(), query };
    run.next.query = AsyncLocalStorage.bind(query);
    return run.next.promise;
  }

  async #run(key: string, query: Query<Answer>): Promise<Answer> {
    const run: Run<Answer> = { next: undefined };
    this.#runs.set(key, run);
    try {
      return await query();
    } finally {
      const { next } = run;
      if (next === undefined) this.#runs.delete(key);
      else this.#run(key, next.query).then(next.resolve, next.reject);
    }
  }
}

/** The running query of a key, and the one that follows it. */
interface Run<Answer> {
  next: (PromiseWithResolvers<Answer> & { query: Query<Answer> }) | undefined;
}
