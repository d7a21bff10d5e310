/**
 * Memory for large batches, used again once they have been sent. Memory that is new for each makes the garbage collector
 * run, for it counts what is taken: several times for every large request.
 */
export class BatchMemory {
  readonly #bytes: number;
  readonly #spare: Buffer[] = [];

  /** `bytes`: what the largest batch takes. */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** For a batch of so many bytes; undefined when that is too little to be worth it. */
  take(batchBytes: number): Buffer | undefined {
    if (batchBytes < leastBytes) return undefined;
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#bytes);
  }

  /** Nobody reads it any more. */
  giveBack(memory: Buffer | undefined): void {
    if (memory !== undefined && this.#spare.length < mostSpare) this.#spare.push(memory);
  }
}

const leastBytes = 64 * 1024;
/** As many as are usually on their way. */
const mostSpare = 2;
