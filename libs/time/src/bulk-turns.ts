import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Keeps the handling of much data from holding up all else: every so many bytes it waits for a turn. Once there have been
 * more than `unhurriedBytes`, turns are those of the whole process: one at a time, with a rest between two, in which other
 * work is done, also that of other processes on the same core. One of these accompanies one body.
 */
export class BulkTurns {
  #leftOfTurn = bytesPerTurn;
  #bytes = 0;

  /** What to wait for after handling so many bytes; undefined: go on. */
  spend(bytes: number): Promise<void> | undefined {
    this.#bytes += bytes;
    this.#leftOfTurn -= bytes;
    if (this.#leftOfTurn > 0) return undefined;
    this.#leftOfTurn = bytesPerTurn;
    return this.#bytes > unhurriedBytes ? lane.turn() : nextTurn();
  }
}

/** Handled in about half a millisecond: a fast sender brings many reads in one turn of the event loop. */
const bytesPerTurn = 256 * 1024;
/** What is smaller than this is sooner done with than it is worth waiting for. */
const unhurriedBytes = 2 * 1024 * 1024;
/** As long as a turn takes, or longer: large data has half of a core at most, and is still handled at 150 MB/s. */
const leastRestMs = 1;
/** However much else there is to do, large data is handled at 30 MB/s. */
const mostRestMs = 8;

/** Those who wait for their turn, in order. */
class Lane {
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;
  #restMs = leastRestMs;

  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isTaken) this.#rest();
    });
  }

  #rest(): void {
    this.#isTaken = true;
    const dueAtMs = performance.now() + this.#restMs;
    setTimeout(() => {
      // A rest that ends late tells that there is other work, here or in other processes on this core: the next is longer.
      const lateMs = performance.now() - dueAtMs;
      this.#restMs = Math.round(Math.min(Math.max(leastRestMs, 2 * lateMs), mostRestMs));
      this.#giveTurn();
    }, this.#restMs);
  }

  #giveTurn(): void {
    this.#waiting.shift()?.();
    // The rest begins when what was done in the turn has ended.
    setImmediate(() => {
      this.#isTaken = false;
      if (this.#waiting.length > 0) this.#rest();
    });
  }
}

const lane = new Lane();
