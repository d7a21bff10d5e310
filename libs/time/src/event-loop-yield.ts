import { setImmediate as nextIteration } from 'node:timers/promises';

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
