/** Collects what is asked for one by one in a tick, and asks for all of it at once when the tick is over. */
export class TickBatch<I, O> {
  readonly #askAll: (items: readonly I[]) => Promise<readonly O[]>;
  #waiting: Asked<I, O>[] = [];

  /** `askAll` answers as many as it is asked, in their order. */
  constructor(askAll: (items: readonly I[]) => Promise<readonly O[]>) {
    this.#askAll = askAll;
  }

  ask(item: I): Promise<O> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.push({ item, resolve, reject });
      // Runs after all that the same read of a connection has led to.
      if (waiting === 1) process.nextTick(() => void this.#flush());
    });
  }

  async #flush(): Promise<void> {
    const asked = this.#waiting;
    this.#waiting = [];
    try {
      const answers = await this.#askAll(asked.map(({ item }) => item));
      if (answers.length !== asked.length) throw new Error('a batch has not as many answers as questions');
      answers.forEach((answer, index) => {
        asked[index]?.resolve(answer);
      });
    } catch (thrown) {
      for (const { reject } of asked) reject(thrown);
    }
  }
}

interface Asked<I, O> {
  readonly item: I;
  readonly resolve: (answer: O) => void;
  readonly reject: (thrown: unknown) => void;
}
