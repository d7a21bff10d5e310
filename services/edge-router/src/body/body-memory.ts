import { addAbortListener } from 'node:events';
import { notNow } from '@gateway/errors';
import { cancelTimer, monotonicMs, sleep, startTimer } from '@gateway/time';
import { ExpansionAllowance } from './expansion-allowance.ts';
import { type Waiter, WaitingRequests } from './waiting-requests.ts';

export interface BodyMemoryOptions {
  /** The maximum number of bytes that request bodies and their decoders take in this process. */
  readonly limitBytes: number;
  /** The maximum that one request takes. It always fits, and no token's share is smaller. */
  readonly largestBodyBytes: number;
  /** How long a request may wait for room in total before it is refused. */
  readonly waitMs: number;
}

/**
 * Distributes the memory for request bodies and their decoders, as bytes arrive. A token's share is
 * half of it, but at least the largest body. Beyond its share a token gets memory only while no
 * other token waits for room, and never the last quarter. Requests that do not fit wait; the oldest
 * comes first.
 */
export class BodyMemory {
  readonly limitBytes: number;
  readonly #shareBytes: number;
  readonly #waitMs: number;
  readonly #usedByToken = new Map<string, number>();
  #usedBytes = 0;
  #requests = 0;
  #waiting = 0;
  readonly #forRoom = new WaitingRequests((waiter) => this.#isWithinShare(waiter));
  readonly #decoding = new Map<string, Decoding>();
  readonly #expansion = new ExpansionAllowance();

  constructor({ limitBytes, largestBodyBytes, waitMs }: BodyMemoryOptions) {
    this.limitBytes = Math.max(limitBytes, largestBodyBytes);
    this.#shareBytes = Math.max(limitBytes / 2, largestBodyBytes);
    this.#waitMs = waitMs;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** How many requests wait for room or for a permit to decode. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * The memory of one request, initially none. Dispose of it when the request ends. `client` is
   * aborted when its client disconnects.
   */
  open(tokenId: string, client: AbortSignal): BodyAllocation {
    this.#requests += 1;
    return new BodyAllocation(this, { tokenId, client, number: this.#requests, waitedMs: 0 });
  }

  /** @see BodyAllocation.take */
  async take(allocation: BodyAllocation, bytes: number): Promise<void> {
    const { owner } = allocation;
    const fitsAtOnce = this.#forRoom.isEmpty && this.#fits({ tokenId: owner.tokenId, bytes });
    if (fitsAtOnce) this.#count(allocation, bytes);
    else await this.#wait(owner, bytes, this.#forRoom, owner.client, () => this.#count(allocation, bytes));
  }

  /** @see BodyAllocation.expand */
  async expand(owner: MemoryOwner, bytes: number, signal: AbortSignal): Promise<void> {
    const waitMs = this.#expansion.take(owner.tokenId, bytes, this.#waitMs - owner.waitedMs);
    if (waitMs === 0) return;
    owner.waitedMs += waitMs;
    await sleep(waitMs, { signal: AbortSignal.any([signal, owner.client]) });
  }

  giveBack(allocation: BodyAllocation): void {
    if (allocation.bytes === 0) return;
    this.#count(allocation, -allocation.bytes);
    this.#serve();
  }

  /** @see BodyAllocation.decodingPermit */
  async decodingPermit(owner: MemoryOwner, signal: AbortSignal): Promise<Disposable> {
    const { tokenId, client } = owner;
    const decoding = this.#decoding.get(tokenId) ?? { taken: 0, waiters: new Set() };
    this.#decoding.set(tokenId, decoding);
    const take = () => {
      decoding.taken += 1;
    };
    if (decoding.taken < maxDecodings) take();
    else await this.#wait(owner, 0, decoding.waiters, AbortSignal.any([signal, client]), take);
    return { [Symbol.dispose]: () => this.#releasePermit(tokenId, decoding) };
  }

  /** The permit goes to the request of this token that has waited longest. */
  #releasePermit(tokenId: string, decoding: Decoding): void {
    decoding.taken -= 1;
    const [next] = decoding.waiters;
    next?.grant();
    if (decoding.taken === 0) this.#decoding.delete(tokenId);
  }

  /**
   * Resolves when `take` is granted. Throws when the request's total waiting time is too long, or
   * `signal` is aborted.
   */
  async #wait(
    owner: MemoryOwner,
    bytes: number,
    waiters: Waiters,
    signal: AbortSignal,
    take: () => void,
  ): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let isWaiting = true;
    const end = (settle: () => void) => {
      if (!isWaiting) return;
      isWaiting = false;
      this.#waiting -= 1;
      waiters.delete(waiter);
      settle();
    };
    const granted = () => {
      take();
      resolve();
    };
    const refused = () => reject(notNow(noRoomText));
    const { tokenId, number } = owner;
    const waiter: Waiter = { tokenId, number, bytes, grant: () => end(granted), refuse: () => end(refused) };
    waiters.add(waiter);
    this.#waiting += 1;
    const leave = () => {
      waiter.refuse();
      this.#serve();
    };
    const startedAtMs = monotonicMs();
    const timer = startTimer(leave, Math.max(1, this.#waitMs - owner.waitedMs));
    using _leaving = addAbortListener(signal, leave);
    this.#serve();
    await promise.finally(() => {
      cancelTimer(timer);
      owner.waitedMs += monotonicMs() - startedAtMs;
    });
  }

  /**
   * Grants what is possible. After a refusal, the others wait until the refused request has
   * released its memory.
   */
  #serve(): void {
    for (;;) {
      const oldest = this.#forRoom.oldestWithinShare;
      // A request that does not fit is not overtaken: otherwise smaller ones could keep it waiting
      // forever.
      const isFull = oldest !== undefined && !this.#fits(oldest);
      if (oldest !== undefined && !isFull) {
        oldest.grant();
        continue;
      }
      const beyond = this.#forRoom.beyondShare.find((waiter) => isFull || this.#fits(waiter));
      if (beyond === undefined) return;
      if (isFull) beyond.refuse();
      else beyond.grant();
    }
  }

  #fits(asked: Pick<Waiter, 'tokenId' | 'bytes'>): boolean {
    const maxBytes = this.#isWithinShare(asked) ? this.limitBytes : this.limitBytes * maxBeyondShare;
    return this.#usedBytes + asked.bytes <= maxBytes;
  }

  #isWithinShare({ tokenId, bytes }: Pick<Waiter, 'tokenId' | 'bytes'>): boolean {
    return (this.#usedByToken.get(tokenId) ?? 0) + bytes <= this.#shareBytes;
  }

  #count(allocation: BodyAllocation, bytes: number): void {
    const { tokenId } = allocation.owner;
    allocation.bytes += bytes;
    this.#usedBytes += bytes;
    const used = (this.#usedByToken.get(tokenId) ?? 0) + bytes;
    if (used === 0) this.#usedByToken.delete(tokenId);
    else this.#usedByToken.set(tokenId, used);
    this.#forRoom.onTaken(tokenId);
  }
}

/**
 * The memory that the body of one request takes. It collects a body that arrives in pieces of any
 * size into blocks. Each block is as long as all before it, within bounds, so that a body in pieces
 * of one byte takes no more memory than one in large pieces.
 */
export class BodyAllocation implements Disposable {
  bytes = 0;
  readonly owner: MemoryOwner;
  readonly #memory: BodyMemory;
  #blocks: Buffer[] = [];
  /** How many bytes of the last block are unused. */
  #free = 0;
  #length = 0;

  constructor(memory: BodyMemory, owner: MemoryOwner) {
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

  /**
   * Resolves when the token may decode this many bytes more than its upload justifies. Throws
   * `providers_unavailable` when it can't for too long.
   */
  expand(bytes: number, signal: AbortSignal): Promise<void> {
    return this.#memory.expand(this.owner, bytes, signal);
  }

  /** Keeps a copy of the bytes. `maxBytes`: the maximum length of the body. */
  async add(bytes: Uint8Array, maxBytes: number): Promise<void> {
    const rest = bytes.subarray(this.#free);
    this.#append(bytes.subarray(0, this.#free));
    if (rest.length === 0) return;
    const wanted = Math.min(Math.max(this.#length, smallestBlockBytes), largestBlockBytes);
    const blockBytes = Math.max(rest.length, Math.min(wanted, maxBytes - this.#length));
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

/** A request that takes memory. */
interface MemoryOwner {
  readonly tokenId: string;
  /** Aborted when its client disconnects. */
  readonly client: AbortSignal;
  /** Increases with each request: an older one has a smaller number. */
  readonly number: number;
  /** Its total waiting time for room or for a permit. */
  waitedMs: number;
}

/** The queues of waiting requests. */
interface Waiters {
  add(waiter: Waiter): unknown;
  delete(waiter: Waiter): unknown;
}

/**
 * Compressed bodies of one token: the permits in use, and the requests that wait for one, in order
 * of arrival.
 */
interface Decoding {
  taken: number;
  readonly waiters: Set<Waiter>;
}

/** How much of the memory may be in use when a token exceeds its share. */
const maxBeyondShare = 3 / 4;
/** How many compressed bodies of one token are decoded concurrently. */
const maxDecodings = 2;
const noRoomText = 'The gateway has no memory for more requests. Try again later.';
