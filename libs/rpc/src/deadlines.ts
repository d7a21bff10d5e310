// Imported instead of global: tests replace the globals for a while, and a sweep that uses a
// replaced timer never runs again.
import { clearInterval, setImmediate, setInterval } from 'node:timers';

/** A call that has a deadline. */
export interface Expiring {
  /** In the time of `performance.now()`. */
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
  #sweeps: NodeJS.Timeout | undefined;

  add(call: Expiring): void {
    this.#calls.add(call);
    // Timers run before the network is read. The sweep waits for that, so that an answer that
    // arrived while the process was blocked is in time.
    this.#sweeps ??= setInterval(() => setImmediate(() => this.#sweep()), sweepMs);
  }

  delete(call: Expiring): void {
    this.#calls.delete(call);
  }

  #sweep(): void {
    const nowMs = performance.now();
    for (const call of this.#calls) if (call.deadlineMs <= nowMs) call.expire();
    if (this.#calls.size > 0) return;
    clearInterval(this.#sweeps);
    this.#sweeps = undefined;
  }
}

const sweepMs = 100;

/** Holds the deadlines of all calls in this process. */
export const deadlines = new Deadlines();
