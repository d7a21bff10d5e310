// Not the globals: tests put others in their place for a while, and what they leave behind would never sweep again.
import { clearInterval, setImmediate, setInterval } from 'node:timers';

/** A call that must end in time. */
export interface Expiring {
  /** By `performance.now()`. */
  readonly deadlineMs: number;
  /** The call ends now, if it has not ended. */
  expire(): void;
}

/**
 * Ends calls whose deadline has passed. One timer looks at all that run, ten times a second, so that a call that ends in time costs
 * no timer of its own; a late one ends at most that much later.
 */
class Deadlines {
  readonly #calls = new Set<Expiring>();
  #sweeps: NodeJS.Timeout | undefined;

  add(call: Expiring): void {
    this.#calls.add(call);
    // Timers run before the network is read: an answer that came while this process stood still is in time.
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

/** Those of all calls in this process. */
export const deadlines = new Deadlines();
