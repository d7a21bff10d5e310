import { type GatewayError, notNow } from '@gateway/errors';
import { cancelTimer, startImmediate, startTimer } from '@gateway/time';

export interface LookupSlotsOptions {
  /** How long a lookup may wait before it is refused. */
  readonly waitMs: number;
  /** How many run concurrently. */
  readonly atATime?: number;
  /** How many of one peer may wait. */
  readonly maxPerPeer?: number;
  /** How many may wait in total. */
  readonly maxWaiting?: number;
}

/**
 * Bounds how many lookups run concurrently. The others wait: peers take turns, and within a peer
 * the first comes first. So a flood of made-up tokens delays only itself and other requests from
 * the same network.
 */
export class LookupSlots {
  readonly #options: Required<LookupSlotsOptions>;
  #running = 0;
  #waiting = 0;
  /** Waiting lookups by peer; the peer whose turn is next comes first. */
  readonly #queues = new Map<string, Set<() => void>>();

  constructor(options: LookupSlotsOptions) {
    this.#options = { atATime: 16, maxPerPeer: 500, maxWaiting: 10_000, ...options };
  }

  /**
   * Runs `lookup` when its turn comes. Throws `providers_unavailable` when that takes too long, or
   * too many are already waiting.
   */
  async run<T>(peer: string, lookup: () => Promise<T>): Promise<T> {
    if (this.#running < this.#options.atATime) this.#running += 1;
    else await this.#turn(peer);
    try {
      return await lookup();
    } finally {
      this.#passOn();
    }
  }

  /** Resolves when a slot is passed on to this lookup. */
  async #turn(peer: string): Promise<void> {
    const { waitMs, maxPerPeer, maxWaiting } = this.#options;
    const queue = this.#queues.get(peer) ?? new Set();
    if (queue.size >= maxPerPeer || this.#waiting >= maxWaiting) throw tooMany();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      queue.delete(enter);
      if (queue.size === 0) this.#queues.delete(peer);
      this.#waiting -= 1;
      cancelTimer(timer);
    };
    const enter = () => {
      leave();
      resolve();
    };
    const timer = startTimer(() => {
      leave();
      reject(tooMany());
    }, waitMs);
    queue.add(enter);
    this.#queues.set(peer, queue);
    this.#waiting += 1;
    return promise;
  }

  /**
   * Passes the slot on in the next turn of the event loop. Otherwise lookups that are answered
   * within the process would run in one go, and requests with known tokens would be read only after
   * all of them.
   */
  #passOn(): void {
    if (this.#waiting === 0) this.#running -= 1;
    else startImmediate(() => this.#passToNext());
  }

  #passToNext(): void {
    const [next] = this.#queues;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    const [peer, queue] = next;
    // Moves the peer to the end of the round.
    this.#queues.delete(peer);
    this.#queues.set(peer, queue);
    const [enter] = queue;
    enter?.();
  }
}

function tooMany(): GatewayError {
  return notNow('Too many requests with unknown tokens. Try again later.');
}
