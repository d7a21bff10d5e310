import { addAbortListener } from 'node:events';
import { GatewayError } from '@gateway/errors';
import { BodyAllocation, type MemoryOwner } from './body-allocation.ts';
import { type Waiter, WaitingRequests } from './waiting-requests.ts';

export interface BodyMemoryOptions {
  /** Most bytes of request bodies, and of decoders of them, that this process keeps at a time. */
  readonly limitBytes: number;
  /**
   * The most that one request takes. There is always room for it, and no token's share is smaller.
   */
  readonly largestBodyBytes: number;
  /** How long a request waits for room in all before it is refused. */
  readonly waitMs: number;
}

/**
 * Shares out the memory that request bodies and their decoders may take, byte by byte as they
 * arrive. A token may take its share: half of all, and never less than the largest body. Beyond its
 * share it gets more only while no other token waits for room, and never the last quarter. What
 * does not fit waits, the oldest request first.
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

  constructor({ limitBytes, largestBodyBytes, waitMs }: BodyMemoryOptions) {
    this.limitBytes = Math.max(limitBytes, largestBodyBytes);
    this.#shareBytes = Math.max(limitBytes / 2, largestBodyBytes);
    this.#waitMs = waitMs;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** How many requests wait for room, or for a permit to decode. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * What one request has taken: nothing at first. Dispose of it when the request ends. `client`
   * aborts when its client leaves.
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
    if (decoding.taken < decodedAtATime) take();
    else await this.#wait(owner, 0, decoding.waiters, AbortSignal.any([signal, client]), take);
    return { [Symbol.dispose]: () => this.#releasePermit(tokenId, decoding) };
  }

  /** The permit goes to the token's request that has waited longest. */
  #releasePermit(tokenId: string, decoding: Decoding): void {
    decoding.taken -= 1;
    const [next] = decoding.waiters;
    next?.grant();
    if (decoding.taken === 0) this.#decoding.delete(tokenId);
  }

  /**
   * Resolves when it is granted, which does `take`. Throws when the request has waited too long in
   * all, or `signal` aborts.
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
    const refused = () => reject(new GatewayError('providers_unavailable', noRoomText));
    const { tokenId, number } = owner;
    const waiter: Waiter = { tokenId, number, bytes, grant: () => end(granted), refuse: () => end(refused) };
    waiters.add(waiter);
    this.#waiting += 1;
    const leave = () => {
      waiter.refuse();
      this.#serve();
    };
    const startedAtMs = performance.now();
    const timer = setTimeout(leave, Math.max(1, this.#waitMs - owner.waitedMs));
    using _leaving = addAbortListener(signal, leave);
    this.#serve();
    await promise.finally(() => {
      clearTimeout(timer);
      owner.waitedMs += performance.now() - startedAtMs;
    });
  }

  /** Grants what can be granted. What a request holds that is refused is what others wait for. */
  #serve(): void {
    for (;;) {
      const oldest = this.#forRoom.oldestWithinShare;
      // One that does not fit is not overtaken: it would wait for ever behind smaller ones.
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
    const mostBytes = this.#isWithinShare(asked) ? this.limitBytes : this.limitBytes * mostBeyondShare;
    return this.#usedBytes + asked.bytes <= mostBytes;
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

/** What those who wait are kept in. */
interface Waiters {
  add(waiter: Waiter): unknown;
  delete(waiter: Waiter): unknown;
}

/**
 * Compressed bodies of one token: how many permits to decode are taken, and what waits for one, in
 * the order in which it came.
 */
interface Decoding {
  taken: number;
  readonly waiters: Set<Waiter>;
}

/** How far a token may fill the memory beyond its share. */
const mostBeyondShare = 3 / 4;
/** Compressed bodies of one token that are decoded at a time. */
const decodedAtATime = 2;
const noRoomText = 'The gateway holds as many requests as it can. Try again later.';
