import { performance } from 'node:perf_hooks';

/** How long it is believed that the disk answers after it has last shown it. The journal asks once a second. */
const trustedMs = 5_000;
/** A write that takes longer holds up requests. */
const slowMs = 5;

/**
 * Whether the disk answers at the moment, as far as is known. A write takes 3 µs, as it only goes to the memory of the operating
 * system, but 20 µs when another thread has to make it. On a disk that hangs it takes for ever, and while something is
 * forced onto a slow one, as long as that: then it must be another thread that waits.
 */
export class DiskPulse {
  readonly #monotonicMs: () => number;
  #trustedUntil = 0;
  #underWay = 0;

  /** @param monotonicMs a clock that never jumps. */
  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /** Forces something onto the disk: when this succeeds, the disk answers. */
  async ask(sync: () => Promise<void>): Promise<void> {
    const askedAt = this.#monotonicMs();
    this.#underWay += 1;
    this.#trustedUntil = 0;
    try {
      await sync();
      this.#trustedUntil = askedAt + trustedMs;
    } finally {
      this.#underWay -= 1;
    }
  }

  /**
   * Writes, while nothing else happens in this process, if the disk has answered a moment ago and nothing is being forced onto it;
   * else false, and nothing is done. A write that was slow is the last one for now.
   */
  tryAtOnce(write: () => void): boolean {
    const begunAt = this.#monotonicMs();
    if (this.#underWay > 0 || begunAt >= this.#trustedUntil) return false;
    try {
      write();
    } catch (fault) {
      this.#trustedUntil = 0;
      throw fault;
    }
    if (this.#monotonicMs() - begunAt > slowMs) this.#trustedUntil = 0;
    return true;
  }
}
