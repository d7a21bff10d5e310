import { addAbortListener } from 'node:events';
import { GatewayError } from '@gateway/errors';

export interface BodyMemoryOptions {
  /** Most bytes of request bodies that this process keeps at a time. */
  readonly limitBytes: number;
  /** The largest body that any endpoint takes: no token's share is smaller. */
  readonly largestBodyBytes: number;
  /** How long a request waits for room in all before it is refused. */
  readonly waitMs: number;
}

/**
 * Shares out the memory that request bodies may take, byte by byte as they arrive. A token may take its share: half of all, and
 * never less than the largest body. Beyond its share it gets more only while no other token waits for room, and never the last
 * quarter. What does not fit waits, the oldest request first.
 */
export class BodyMemory {
  readonly #options: BodyMemoryOptions;
  readonly #shareBytes: number;
  readonly #usedByToken = new Map<string, number>();
  #usedBytes = 0;
  #requests = 0;
  readonly #waiters = new Set<Waiter>();
  /** Permits to decode that are taken, by token. */
  readonly #decoding = new Map<string, number>();
  readonly #decodeWaiters = new Set<Waiter>();

  constructor(options: BodyMemoryOptions) {
    this.#options = options;
    this.#shareBytes = Math.max(options.limitBytes / 2, options.largestBodyBytes);
  }

  get limitBytes(): number {
    return this.#options.limitBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** How many requests wait for room, or for a permit to decode. */
  get waiting(): number {
    return this.#waiters.size + this.#decodeWaiters.size;
  }

  /** What one request has taken: nothing at first. Dispose of it when the request ends. `client` aborts when its client leaves. */
  open(tokenId: string, client: AbortSignal): BodyAllocation {
    this.#requests += 1;
    return new BodyAllocation(this, tokenId, client, this.#requests);
  }

  /** @see BodyAllocation.take */
  async take(allocation: BodyAllocation, bytes: number): Promise<void> {
    if (this.#waiters.size === 0 && this.#fits(allocation, bytes)) return this.#count(allocation, bytes);
    const granted = this.#wait(this.#waiters, allocation, bytes, allocation.client);
    this.#serve();
    await granted.finally(() => this.#serve());
  }

  giveBack(allocation: BodyAllocation): void {
    if (allocation.bytes === 0) return;
    this.#count(allocation, -allocation.bytes);
    this.#serve();
  }

  /** @see BodyAllocation.decodingPermit */
  async decodingPermit(allocation: BodyAllocation, signal: AbortSignal): Promise<Disposable> {
    const { tokenId, client } = allocation;
    const taken = this.#decoding.get(tokenId) ?? 0;
    if (taken < decodedAtATime) this.#decoding.set(tokenId, taken + 1);
    else await this.#wait(this.#decodeWaiters, allocation, 0, AbortSignal.any([signal, client]));
    return { [Symbol.dispose]: () => this.#releasePermit(tokenId) };
  }

  /** The permit goes to the token's request that has waited longest. */
  #releasePermit(tokenId: string): void {
    const next = this.#decodeWaiters.values().find(({ allocation }) => allocation.tokenId === tokenId);
    const taken = this.#decoding.get(tokenId) ?? 0;
    if (next !== undefined) next.grant();
    else if (taken > 1) this.#decoding.set(tokenId, taken - 1);
    else this.#decoding.delete(tokenId);
  }

  /** Resolves when it is granted. Throws when the request has waited too long in all, or `signal` aborts. */
  async #wait(waiters: Set<Waiter>, allocation: BodyAllocation, bytes: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const end = (settle: () => void) => {
      waiters.delete(waiter);
      settle();
    };
    const refuse = () => end(() => reject(new GatewayError('providers_unavailable', noRoomText)));
    const waiter: Waiter = { allocation, bytes, grant: () => end(resolve), refuse };
    waiters.add(waiter);
    const startedAtMs = performance.now();
    const timer = setTimeout(refuse, this.#options.waitMs - allocation.waitedMs);
    using _leaving = addAbortListener(signal, refuse);
    await promise.finally(() => {
      clearTimeout(timer);
      allocation.waitedMs += performance.now() - startedAtMs;
    });
  }

  #serve(): void {
    if (this.#waiters.size === 0) return;
    const oldestFirst = [...this.#waiters].sort((a, b) => a.allocation.number - b.allocation.number);
    let isFull = false;
    for (const waiter of oldestFirst) {
      if (!this.#isWithinShare(waiter.allocation, waiter.bytes)) continue;
      // One that does not fit is not overtaken: it would wait for ever behind smaller ones.
      isFull ||= !this.#fits(waiter.allocation, waiter.bytes);
      if (!isFull) this.#grant(waiter);
    }
    for (const waiter of oldestFirst) {
      if (!this.#waiters.has(waiter) || this.#isWithinShare(waiter.allocation, waiter.bytes)) continue;
      // What a refused request has already is what others wait for.
      if (isFull) waiter.refuse();
      else if (this.#fits(waiter.allocation, waiter.bytes)) this.#grant(waiter);
    }
  }

  #fits(allocation: BodyAllocation, bytes: number): boolean {
    const { limitBytes } = this.#options;
    const mostBytes = this.#isWithinShare(allocation, bytes) ? limitBytes : limitBytes * mostBeyondShare;
    return this.#usedBytes + bytes <= mostBytes;
  }

  #isWithinShare({ tokenId }: BodyAllocation, bytes: number): boolean {
    return (this.#usedByToken.get(tokenId) ?? 0) + bytes <= this.#shareBytes;
  }

  #grant(waiter: Waiter): void {
    this.#count(waiter.allocation, waiter.bytes);
    waiter.grant();
  }

  #count(allocation: BodyAllocation, bytes: number): void {
    allocation.bytes += bytes;
    this.#usedBytes += bytes;
    const used = (this.#usedByToken.get(allocation.tokenId) ?? 0) + bytes;
    if (used === 0) this.#usedByToken.delete(allocation.tokenId);
    else this.#usedByToken.set(allocation.tokenId, used);
  }
}

/** A request that waits for bytes, or for a permit to decode. */
interface Waiter {
  readonly allocation: BodyAllocation;
  readonly bytes: number;
  readonly grant: () => void;
  readonly refuse: () => void;
}

/** How far a token may fill the memory beyond its share. */
const mostBeyondShare = 3 / 4;
/** Compressed bodies of one token that are decoded at a time. */
const decodedAtATime = 2;
const noRoomText = 'The gateway holds as many requests as it can. Try again later.';

/**
 * What the body of one request has taken. Gathers a body that arrives in pieces of any size: block by block, each as long as all
 * before it within bounds, so that a body in pieces of one byte takes no more than one in large pieces.
 */
export class BodyAllocation implements Disposable {
  /** How long the request has waited for room or for a permit. */
  waitedMs = 0;
  bytes = 0;
  readonly #memory: BodyMemory;
  readonly tokenId: string;
  readonly client: AbortSignal;
  /** Counts up: an older request has a smaller one. */
  readonly number: number;
  #blocks: Buffer[] = [];
  /** How many bytes of the last block are not used yet. */
  #free = 0;
  #length = 0;

  constructor(memory: BodyMemory, tokenId: string, client: AbortSignal, number: number) {
    this.#memory = memory;
    this.tokenId = tokenId;
    this.client = client;
    this.number = number;
  }

  /** Resolves when the bytes are taken. Throws `providers_unavailable` when there is no room for too long. */
  take(bytes: number): Promise<void> {
    return this.#memory.take(this, bytes);
  }

  /** Resolves when the token may decode a compressed body: it does so with few at a time. Dispose of the permit soon. */
  decodingPermit(signal: AbortSignal): Promise<Disposable> {
    return this.#memory.decodingPermit(this, signal);
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
