import { cancelTimer, monotonicMs, startInterval } from '@gateway/time';

/** Under npm one Ctrl-C arrives twice: from the terminal, and forwarded by npm. */
const sameSignalMs = 1_000;

/**
 * Waits for the first SIGTERM or SIGINT. Another one at least a second later ends the process at
 * once. Until disposal it keeps the process alive, even when only child processes have work to do.
 */
export class StopSignal implements Disposable {
  readonly received: Promise<NodeJS.Signals>;
  /** Aborted by the first signal, to cancel a start that is still running. */
  readonly signal: AbortSignal;
  readonly #alive = startInterval(() => undefined, 2 ** 30);

  constructor() {
    const controller = new AbortController();
    this.signal = controller.signal;
    this.received = new Promise((resolve) => {
      let firstAtMs: number | undefined;
      const onSignal = (name: NodeJS.Signals) => {
        if (firstAtMs !== undefined && monotonicMs() - firstAtMs >= sameSignalMs) process.exit(1);
        firstAtMs ??= monotonicMs();
        controller.abort();
        resolve(name);
      };
      process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
    });
  }

  [Symbol.dispose](): void {
    cancelTimer(this.#alive);
  }
}
