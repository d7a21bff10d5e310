/** One Ctrl-C arrives twice under npm: from the terminal, and passed on by npm, which gets it as well. */
const sameSignalMs = 1_000;

/**
 * Waits for the first SIGTERM or SIGINT; a further one, a second later or more, ends the process at once. Until it is disposed the
 * process lives, even when all of its work is done by its children.
 */
export class StopSignal implements Disposable {
  readonly received: Promise<NodeJS.Signals>;
  /** Aborted by the first of them: for a start that is not to go on. */
  readonly signal: AbortSignal;
  readonly #alive = setInterval(() => undefined, 2 ** 30);

  constructor() {
    const controller = new AbortController();
    this.signal = controller.signal;
    this.received = new Promise((resolve) => {
      let firstAtMs: number | undefined;
      const onSignal = (name: NodeJS.Signals) => {
        if (firstAtMs !== undefined && performance.now() - firstAtMs >= sameSignalMs) process.exit(1);
        firstAtMs ??= performance.now();
        controller.abort();
        resolve(name);
      };
      process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
    });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#alive);
  }
}
