/** A request that takes memory. */
export interface MemoryOwner {
  readonly tokenId: string;
  /** Aborts when its client leaves. */
  readonly client: AbortSignal;
  /** Counts up: an older request has a smaller one. */
  readonly number: number;
  /** How long it has waited for room or for a permit, in all. */
  waitedMs: number;
}

/** The memory that allocations share. */
interface AllocatedFrom {
  take(allocation: BodyAllocation, bytes: number): Promise<void>;
  giveBack(allocation: BodyAllocation): void;
  decodingPermit(owner: MemoryOwner, signal: AbortSignal): Promise<Disposable>;
}

/**
 * What the body of one request has taken. Gathers a body that arrives in pieces of any size: block
 * by block, each as long as all before it within bounds, so that a body in pieces of one byte takes
 * no more than one in large pieces.
 */
export class BodyAllocation implements Disposable {
  bytes = 0;
  readonly owner: MemoryOwner;
  readonly #memory: AllocatedFrom;
  #blocks: Buffer[] = [];
  /** How many bytes of the last block are not used yet. */
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
   * Memory that the same request needs for a while besides its body. Dispose of it when that has
   * ended.
   */
  beside(): BodyAllocation {
    return new BodyAllocation(this.#memory, this.owner);
  }

  /**
   * Resolves when the bytes are taken. Throws `providers_unavailable` when there is no room for too
   * long.
   */
  take(bytes: number): Promise<void> {
    return this.#memory.take(this, bytes);
  }

  /**
   * Resolves when the token may decode a compressed body: it does so with few at a time. Dispose of
   * the permit soon.
   */
  decodingPermit(signal: AbortSignal): Promise<Disposable> {
    return this.#memory.decodingPermit(this.owner, signal);
  }

  /** Keeps a copy of the bytes. `mostBytes`: the body is no longer. */
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

  /** All bytes so far, as they lie in memory. */
  get pieces(): readonly Buffer[] {
    const last = this.#blocks.at(-1);
    return this.#blocks.map((block) => (block === last ? block.subarray(0, block.length - this.#free) : block));
  }

  /** Forgets the body, and gives everything back. */
  [Symbol.dispose](): void {
    this.#blocks = [];
    this.#free = 0;
    this.#length = 0;
    this.#memory.giveBack(this);
  }

  /** Into the last block, which has room for it. */
  #append(bytes: Uint8Array): void {
    const block = this.#blocks.at(-1);
    block?.set(bytes, block.length - this.#free);
    this.#free -= bytes.length;
    this.#length += bytes.length;
  }
}

const smallestBlockBytes = 4 * 1024;
const largestBlockBytes = 1024 * 1024;
