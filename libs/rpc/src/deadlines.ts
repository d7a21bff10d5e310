import { beforeSourceChange, cancelTimer, monotonicMs, startProcessInterval, type Timer } from '@gateway/time';

/** A call that has a deadline. */
export interface Expiring {
  /** In the time of `monotonicMs()`. */
  readonly deadlineMs: number;
  /** Ends the call now, unless it has ended. */
  expire(): void;
}

/**
 * Ends calls whose deadline has passed. One timer checks all running calls ten times a second, so
 * that a call needs no timer of its own. A late call ends at most a tenth of a second after its
 * deadline.
 */
class Deadlines {
  readonly #calls = new Set<Expiring>();
  #sweeps: Timer | undefined;

  add(call: Expiring): void {
    this.#calls.add(call);
    // Sweeps run after the network was read, so that an answer that arrived while the process was
    // blocked is in time.
    this.#sweeps ??= startProcessInterval(() => this.#sweep(), sweepMs);
  }

  delete(call: Expiring): void {
    this.#calls.delete(call);
  }

  /** Calls of another source of time have deadlines in its time. */
  forgetAll(): void {
    this.#calls.clear();
    this.#stop();
  }

  #sweep(): void {
    const nowMs = monotonicMs();
    for (const call of this.#calls) if (call.deadlineMs <= nowMs) call.expire();
    if (this.#calls.size === 0) this.#stop();
  }

  #stop(): void {
    cancelTimer(this.#sweeps);
    this.#sweeps = undefined;
  }
}

const sweepMs = 100;

/** Holds the deadlines of all calls in this process. */
export const deadlines = new Deadlines();

beforeSourceChange(() => deadlines.forgetAll());
