/** Bytes that arrive in pieces, gathered into one buffer without a long copy at the end. */
export class GatheredBytes {
  #buffer: Buffer;
  #length = 0;

  /** `expectedBytes`: how many will come, when it is known; more may come as well. */
  constructor(expectedBytes: number) {
    this.#buffer = Buffer.allocUnsafeSlow(expectedBytes);
  }

  get length(): number {
    return this.#length;
  }

  /** The bytes that are taken from memory, used or not. */
  get capacity(): number {
    return this.#buffer.length;
  }

  /** What `capacity` will be after `chunk` is added. */
  capacityWith(chunk: Buffer): number {
    const needed = this.#length + chunk.length;
    return needed <= this.capacity ? this.capacity : Math.max(needed, this.capacity * 2);
  }

  add(chunk: Buffer): void {
    const capacity = this.capacityWith(chunk);
    if (capacity > this.capacity) {
      const grown = Buffer.allocUnsafeSlow(capacity);
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length += chunk.length;
  }

  /** All bytes so far. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }
}
