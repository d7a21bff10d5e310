import { cancelTimer, monotonicMs, startInterval, type Timer } from '@gateway/time';
import { npxWatch } from './npx-parents.ts';

/** Under npm one Ctrl-C arrives twice: from the terminal, and forwarded by npm. */
const sameSignalMs = 1_000;

/**
 * Waits for the first SIGTERM or SIGINT. Another one at least a second later ends the process at
 * once. Under npx, it also stops when npx has ended. Until disposal it keeps the process alive,
 * even when only child processes have work to do.
 */
export class StopSignal implements Disposable {
  readonly received: Promise<NodeJS.Signals>;
  /** Aborted by the first signal, to cancel a start that is still running. */
  readonly signal: AbortSignal;
  readonly #alive: Timer;

  constructor() {
    const controller = new AbortController();
    const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
    this.received = promise;
    this.signal = controller.signal;
    let firstAtMs: number | undefined;
    const onSignal = (name: NodeJS.Signals) => {
      if (firstAtMs !== undefined && monotonicMs() - firstAtMs >= sameSignalMs) process.exit(1);
      firstAtMs ??= monotonicMs();
      controller.abort();
      resolve(name);
    };
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
    const hasNpxEnded = npxWatch(process.env);
    const onTick = () => {
      if (firstAtMs === undefined && hasNpxEnded?.()) onSignal('SIGTERM');
    };
    this.#alive = startInterval(onTick, hasNpxEnded === undefined ? 2 ** 30 : npxCheckedMs);
  }

  [Symbol.dispose](): void {
    cancelTimer(this.#alive);
  }
}

const npxCheckedMs = 500;
