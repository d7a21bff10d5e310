import { setImmediate as nextIteration } from 'node:timers/promises';

/** Where code learns the time, so that tests can set it. */
export interface Clock {
  /** Epoch milliseconds. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

/** A clock that moves only when a test moves it. For tests. */
export class ManualClock implements Clock {
  #nowMs: number;

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  advanceMs(durationMs: number): void {
    this.#nowMs += durationMs;
  }

  setMs(nowMs: number): void {
    this.#nowMs = nowMs;
  }
}

/** Keeps the handling of a large body from holding up other work. One of these accompanies one body. */
export class EventLoopYield {
  #bytesSinceYield = 0;

  /** To be awaited after handling so many bytes: yields to the event loop every 256 KiB. */
  async spend(bytes: number): Promise<void> {
    this.#bytesSinceYield += bytes;
    if (this.#bytesSinceYield < bytesPerYield) return;
    this.#bytesSinceYield = 0;
    await nextIteration();
  }
}

/** Handled in about half a millisecond. */
const bytesPerYield = 256 * 1024;
