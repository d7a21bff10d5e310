import type { BodyAllocation } from './body-memory.ts';

/**
 * Gathers a body that arrives in pieces of any size. Takes memory as bytes arrive: block by block, each as long as all before it
 * within bounds, so that a body in pieces of one byte takes no more than one in large pieces.
 */
export class BodyBuffer {
  readonly #memory: Pick<BodyAllocation, 'take' | typeof Symbol.dispose>;
  readonly #mostBytes: number;
  #blocks: Buffer[] = [];
  #capacity = 0;
  #length = 0;

  /** `mostBytes`: no more will be added. */
  constructor(mostBytes: number, memory: Pick<BodyAllocation, 'take' | typeof Symbol.dispose>) {
    this.#mostBytes = mostBytes;
    this.#memory = memory;
  }

  async add(bytes: Uint8Array): Promise<void> {
    const fitting = Math.min(bytes.length, this.#capacity - this.#length);
    this.#append(bytes.subarray(0, fitting));
    if (fitting < bytes.length) {
      await this.#addBlock(bytes.length - fitting);
      this.#append(bytes.subarray(fitting));
    }
  }

  /** All bytes so far, as they lie in memory. */
  get pieces(): readonly Buffer[] {
    const last = this.#blocks.at(-1);
    if (last === undefined) return [];
    return [...this.#blocks.slice(0, -1), last.subarray(0, last.length - (this.#capacity - this.#length))];
  }

  /** Forgets everything. */
  clear(): void {
    this.#blocks = [];
    this.#capacity = 0;
    this.#length = 0;
    this.#memory[Symbol.dispose]();
  }

  async #addBlock(leastBytes: number): Promise<void> {
    const wanted = Math.min(Math.max(this.#length, smallestBlockBytes), largestBlockBytes);
    const blockBytes = Math.max(leastBytes, Math.min(wanted, this.#mostBytes - this.#length));
    await this.#memory.take(blockBytes);
    this.#blocks.push(Buffer.allocUnsafeSlow(blockBytes));
    this.#capacity += blockBytes;
  }

  /** Into the last block, which has room for it. */
  #append(bytes: Uint8Array): void {
    const block = this.#blocks.at(-1);
    block?.set(bytes, block.length - (this.#capacity - this.#length));
    this.#length += bytes.length;
  }
}

const smallestBlockBytes = 4 * 1024;
const largestBlockBytes = 1024 * 1024;
