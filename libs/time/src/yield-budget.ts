import { setImmediate as nextTick } from 'node:timers/promises';

/**
 * Keeps the handling of large data from blocking the event loop: every so many bytes it yields. From `smallBytes` on, large data
 * of the whole process is handled one slice at a time, with a pause between two slices for other work, also that of other
 * processes on the same core. Each body has a budget of its own.
 */
export class YieldBudget {
  #left = bytesPerSlice;
  #bytes = 0;

  /** What to wait for after handling so many bytes; undefined: go on. */
  spend(bytes: number): Promise<void> | undefined {
    this.#bytes += bytes;
    this.#left -= bytes;
    if (this.#left > 0) return undefined;
    this.#left = bytesPerSlice;
    return this.#bytes > smallBytes ? largeData.slice() : nextTick();
  }
}

/** Handled in about half a millisecond: a fast sender brings many reads in one tick of the event loop. */
const bytesPerSlice = 256 * 1024;
/** Smaller data is handled sooner than it is worth waiting for. */
const smallBytes = 2 * 1024 * 1024;
/** As long as a slice takes, or longer: large data has half of a core at most, and is still handled at 150 MB/s. */
const shortestPauseMs = 1;
/** However much other work there is, large data is handled at 30 MB/s. */
const longestPauseMs = 8;

/** Gives slices of time to those who wait, in order. */
class SliceQueue {
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;
  #pauseMs = shortestPauseMs;

  slice(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isBusy) this.#pause();
    });
  }

  #pause(): void {
    this.#isBusy = true;
    const dueAtMs = performance.now() + this.#pauseMs;
    setTimeout(() => {
      // A pause that ends late means that there is other work, here or in other processes on this core: the next is longer.
      const lateMs = performance.now() - dueAtMs;
      this.#pauseMs = Math.round(Math.min(Math.max(shortestPauseMs, 2 * lateMs), longestPauseMs));
      this.#startNext();
    }, this.#pauseMs);
  }

  #startNext(): void {
    this.#waiting.shift()?.();
    // The pause begins when the work of the slice has ended.
    setImmediate(() => {
      this.#isBusy = false;
      if (this.#waiting.length > 0) this.#pause();
    });
  }
}

const largeData = new SliceQueue();
