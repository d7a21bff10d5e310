const names: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

/** One Ctrl-C arrives twice under npm: from the terminal, and passed on by npm, which gets it as well. */
const sameSignalMs = 1_000;

/**
 * Waits for the first SIGTERM or SIGINT; a further one, a second later or more, ends the process at once. Until the first,
 * or until it is disposed, the process lives: it may hold nothing else that keeps it, as one whose work is all done by its
 * children.
 */
export class StopSignal implements Disposable {
  readonly received: Promise<NodeJS.Signals>;
  readonly #controller = new AbortController();
  readonly #alive = setInterval(() => undefined, 2 ** 30);

  constructor() {
    const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
    this.received = promise;
    let firstAtMs: number | undefined;
    const onSignal = (name: NodeJS.Signals) => {
      if (firstAtMs !== undefined && performance.now() - firstAtMs >= sameSignalMs) process.exit(1);
      firstAtMs ??= performance.now();
      this.#controller.abort();
      resolve(name);
    };
    for (const name of names) process.on(name, onSignal);
  }

  /** Aborted by the first of them: for a start that is not to go on. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#alive);
  }
}
