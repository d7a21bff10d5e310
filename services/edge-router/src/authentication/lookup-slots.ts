import { GatewayError } from '@gateway/errors';

export interface LookupSlotsOptions {
  /** How long a lookup waits for its turn before it is refused. */
  readonly waitMs: number;
  /** How many run at a time. */
  readonly atATime?: number;
  /** How many of one peer may wait. */
  readonly mostOfPeer?: number;
  /** How many may wait in all. */
  readonly mostWaiting?: number;
}

/**
 * Bounds how many lookups run at a time. The others wait: peers take turns, and of one peer the one
 * that came first is next. So a flood of tokens that somebody made up keeps only itself waiting,
 * and those behind the same address as long as its line is.
 */
export class LookupSlots {
  readonly #options: Required<LookupSlotsOptions>;
  #running = 0;
  #waiting = 0;
  /** Those who wait, by peer; the peer whose turn is next comes first. */
  readonly #lines = new Map<string, Set<() => void>>();

  constructor(options: LookupSlotsOptions) {
    this.#options = { atATime: 16, mostOfPeer: 500, mostWaiting: 10_000, ...options };
  }

  /**
   * Runs `lookup` when it is its turn. Throws `providers_unavailable` when that takes too long, or
   * too many wait already.
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

  /** Resolves when a slot is passed on to this one. */
  async #turn(peer: string): Promise<void> {
    const { waitMs, mostOfPeer, mostWaiting } = this.#options;
    const line = this.#lines.get(peer) ?? new Set();
    if (line.size >= mostOfPeer || this.#waiting >= mostWaiting) throw tooMany();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      line.delete(enter);
      if (line.size === 0) this.#lines.delete(peer);
      this.#waiting -= 1;
      clearTimeout(timer);
    };
    const enter = () => {
      leave();
      resolve();
    };
    const timer = setTimeout(() => {
      leave();
      reject(tooMany());
    }, waitMs);
    line.add(enter);
    this.#lines.set(peer, line);
    this.#waiting += 1;
    return promise;
  }

  /**
   * Passes the slot on in the next turn of the event loop: lookups that are answered within the
   * process follow each other at once, and requests of known tokens would be read only after all of
   * them.
   */
  #passOn(): void {
    if (this.#waiting === 0) this.#running -= 1;
    else setImmediate(() => this.#passToNext());
  }

  #passToNext(): void {
    const [next] = this.#lines;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    const [peer, line] = next;
    // To the end of the round.
    this.#lines.delete(peer);
    this.#lines.set(peer, line);
    const [enter] = line;
    enter?.();
  }
}

function tooMany(): GatewayError {
  return new GatewayError('providers_unavailable', 'Too many unknown tokens are presented. Try again later.');
}
