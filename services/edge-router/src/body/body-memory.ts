import { GatewayError } from '@gateway/errors';
import { Permits } from './permits.ts';

export interface BodyMemoryOptions {
  /** Most bytes of request bodies that this process keeps at a time. */
  readonly limitBytes: number;
  /** The largest body that any endpoint takes: no token's share is smaller. */
  readonly largestBodyBytes: number;
  /** How long a request waits for room in all before it is refused. */
  readonly waitMs: number;
}

interface Waiter {
  readonly allocation: BodyAllocation;
  readonly bytes: number;
  readonly grant: () => void;
  readonly refuse: () => void;
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
  /** The oldest request first. */
  #waiters: readonly Waiter[] = [];
  readonly #decoding = new Permits(decodedAtATime);

  constructor(options: BodyMemoryOptions) {
    this.#options = options;
    this.#shareBytes = Math.max(options.limitBytes / 2, options.largestBodyBytes);
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** What one request has taken: nothing at first. Dispose of it when the request ends. `client` aborts when its client leaves. */
  open(tokenId: string, client: AbortSignal): BodyAllocation {
    this.#requests += 1;
    return new BodyAllocation(this, tokenId, client, this.#requests);
  }

  /** Resolves when the bytes are taken. Throws `providers_unavailable` when there is no room for too long. */
  async take(allocation: BodyAllocation, bytes: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { allocation, bytes, grant: resolve, refuse: () => reject(noRoom()) };
    this.#waiters = [...this.#waiters, waiter].sort((a, b) => a.allocation.number - b.allocation.number);
    this.#serve();
    if (!this.#waiters.includes(waiter)) return promise;
    const { client, waitedMs } = allocation;
    const timer = setTimeout(waiter.refuse, this.#options.waitMs - waitedMs);
    client.addEventListener('abort', waiter.refuse, { once: true });
    if (client.aborted) waiter.refuse();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      client.removeEventListener('abort', waiter.refuse);
      this.#leave(waiter);
      this.#serve();
    }
  }

  giveBack({ tokenId }: BodyAllocation, bytes: number): void {
    this.#count(tokenId, -bytes);
    this.#serve();
  }

  /** Resolves when the token may decode a compressed body: it does so with few at a time. Dispose of the permit soon. */
  decodingPermit({ tokenId, client }: BodyAllocation, signal: AbortSignal): Promise<Disposable> {
    const patience = () => AbortSignal.any([signal, client, AbortSignal.timeout(this.#options.waitMs)]);
    return this.#decoding.acquire(tokenId, patience, noRoom);
  }

  #serve(): void {
    let isFull = false;
    for (const waiter of this.#waiters) {
      if (!this.#isWithinShare(waiter)) continue;
      // One that does not fit is not overtaken: it would wait for ever behind smaller ones.
      isFull ||= this.#usedBytes + waiter.bytes > this.#options.limitBytes;
      if (!isFull) this.#grant(waiter);
    }
    for (const waiter of this.#waiters) {
      if (this.#isWithinShare(waiter)) continue;
      if (isFull) {
        // What a refused request has already is what others wait for.
        this.#leave(waiter);
        waiter.refuse();
      } else if (this.#usedBytes + waiter.bytes <= this.#options.limitBytes * mostBeyondShare) this.#grant(waiter);
    }
  }

  #isWithinShare({ allocation, bytes }: Waiter): boolean {
    return (this.#usedByToken.get(allocation.tokenId) ?? 0) + bytes <= this.#shareBytes;
  }

  #grant(waiter: Waiter): void {
    this.#leave(waiter);
    this.#count(waiter.allocation.tokenId, waiter.bytes);
    waiter.allocation.onTaken(waiter.bytes);
    waiter.grant();
  }

  #leave(waiter: Waiter): void {
    this.#waiters = this.#waiters.filter((other) => other !== waiter);
  }

  #count(tokenId: string, bytes: number): void {
    this.#usedBytes += bytes;
    const used = (this.#usedByToken.get(tokenId) ?? 0) + bytes;
    if (used === 0) this.#usedByToken.delete(tokenId);
    else this.#usedByToken.set(tokenId, used);
  }
}

/** What the body of one request has taken. */
export class BodyAllocation implements Disposable {
  readonly tokenId: string;
  readonly client: AbortSignal;
  /** Counts up: an older request has a smaller one. */
  readonly number: number;
  readonly #memory: BodyMemory;
  #bytes = 0;
  #waitedMs = 0;

  constructor(memory: BodyMemory, tokenId: string, client: AbortSignal, number: number) {
    this.#memory = memory;
    this.tokenId = tokenId;
    this.client = client;
    this.number = number;
  }

  /** How long the request has waited for room or for a permit. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** Takes as many bytes more. Throws `providers_unavailable` when there is no room for too long. */
  take(bytes: number): Promise<void> {
    return this.#waitingFor(this.#memory.take(this, bytes));
  }

  /** @see BodyMemory.decodingPermit */
  decodingPermit(signal: AbortSignal): Promise<Disposable> {
    return this.#waitingFor(this.#memory.decodingPermit(this, signal));
  }

  onTaken(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Gives everything back. */
  [Symbol.dispose](): void {
    const bytes = this.#bytes;
    this.#bytes = 0;
    if (bytes > 0) this.#memory.giveBack(this, bytes);
  }

  async #waitingFor<T>(what: Promise<T>): Promise<T> {
    const startedAtMs = performance.now();
    return what.finally(() => {
      this.#waitedMs += performance.now() - startedAtMs;
    });
  }
}

/** How far a token may fill the memory beyond its share. */
const mostBeyondShare = 3 / 4;
/** Compressed bodies of one token that are decoded at a time. */
const decodedAtATime = 2;

function noRoom(): GatewayError {
  return new GatewayError('providers_unavailable', 'The gateway holds as many requests as it can. Try again later.');
}
