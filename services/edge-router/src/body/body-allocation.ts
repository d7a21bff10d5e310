/** A request that takes memory. */
export interface MemoryOwner {
  readonly tokenId: string;
  /** Aborted when its client disconnects. */
  readonly client: AbortSignal;
  /** Increases with each request: an older one has a smaller number. */
  readonly number: number;
  /** Its total waiting time for room or for a permit. */
  waitedMs: number;
}

/** The memory that allocations share. */
interface AllocatedFrom {
  take(allocation: BodyAllocation, bytes: number): Promise<void>;
  giveBack(allocation: BodyAllocation): void;
  decodingPermit(owner: MemoryOwner, signal: AbortSignal): Promise<Disposable>;
}

/**
 * The memory that the body of one request takes. It collects a body that arrives in pieces of any
 * size into blocks. Each block is as long as all before it, within bounds, so that a body in pieces
 * of one byte takes no more memory than one in large pieces.
 */
export class BodyAllocation implements Disposable {
  bytes = 0;
  readonly owner: MemoryOwner;
  readonly #memory: AllocatedFrom;
  #blocks: Buffer[] = [];
  /** How many bytes of the last block are unused. */
  #free = 0;
  #length = 0;

  constructor(memory: AllocatedFrom, owner: MemoryOwner) {
    this.#memory = memory;
    this.owner = owner;
  }

  get waitedMs(): number {
    return this.owner.waitedMs;
  }

  /**
   * Additional memory that the same request needs temporarily. Dispose of it when that use ends.
   */
  beside(): BodyAllocation {
    return new BodyAllocation(this.#memory, this.owner);
  }

  /**
   * Resolves when the bytes are reserved. Throws `providers_unavailable` when there is no room for
   * too long.
   */
  take(bytes: number): Promise<void> {
    return this.#memory.take(this, bytes);
  }

  /**
   * Resolves when the token may decode a compressed body: only a few per token are decoded
   * concurrently. Dispose of the permit soon.
   */
  decodingPermit(signal: AbortSignal): Promise<Disposable> {
    return this.#memory.decodingPermit(this.owner, signal);
  }

  /** Keeps a copy of the bytes. `mostBytes`: the maximum length of the body. */
  async add(bytes: Uint8Array, mostBytes: number): Promise<void> {
    const rest = bytes.subarray(this.#free);
    this.#append(bytes.subarray(0, this.#free));
    if (rest.length === 0) return;
    const wanted = Math.min(Math.max(this.#length, smallestBlockBytes), largestBlockBytes);
    const blockBytes = Math.max(rest.length, Math.min(wanted, mostBytes - this.#length));
    await this.take(blockBytes);
    this.#blocks.push(Buffer.allocUnsafeSlow(blockBytes));
    this.#free = blockBytes;
    this.#append(rest);
  }

  /** All bytes so far, in their blocks. */
  get pieces(): readonly Buffer[] {
    const last = this.#blocks.at(-1);
    return this.#blocks.map((block) => (block === last ? block.subarray(0, block.length - this.#free) : block));
  }

  /** Drops the body and releases all memory. */
  [Symbol.dispose](): void {
    this.#blocks = [];
    this.#free = 0;
    this.#length = 0;
    this.#memory.giveBack(this);
  }

  /** Copies into the last block, which must have room. */
  #append(bytes: Uint8Array): void {
    const block = this.#blocks.at(-1);
    block?.set(bytes, block.length - this.#free);
    this.#free -= bytes.length;
    this.#length += bytes.length;
  }
}

const smallestBlockBytes = 4 * 1024;
const largestBlockBytes = 1024 * 1024;
