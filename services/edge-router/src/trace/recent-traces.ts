import { FifoQueue } from './fifo-queue.ts';
import { isRemarkable } from './request-ending.ts';
import type { RequestStory } from './request-story.ts';
import type { RequestTrace } from './request-trace.ts';

export interface RecentTracesOptions {
  /** Most ended requests that are remembered. 0: none. */
  readonly capacity: number;
  /** From when on an answer that has not begun is slow. */
  readonly slowMs: number;
}

/**
 * The latest requests of this edge, and those under way. Half of the room is kept for requests that are worth a look, so that
 * plain successes, which are many, do not push them out; what one kind leaves free the other may use.
 */
export class RecentTraces {
  readonly slowMs: number;
  readonly #capacity: number;
  readonly #plain: FifoQueue<RequestStory>;
  readonly #remarkable: FifoQueue<RequestStory>;
  readonly #running = new Set<RequestTrace>();

  constructor({ capacity, slowMs }: RecentTracesOptions) {
    this.slowMs = slowMs;
    this.#capacity = capacity;
    this.#plain = new FifoQueue(capacity);
    this.#remarkable = new FifoQueue(capacity);
  }

  /** A request has begun. It must be ended. */
  begin(trace: RequestTrace): void {
    this.#running.add(trace);
  }

  /** A request has ended. One whose token is not known is not kept: anybody can send as many of them as he likes. */
  end(trace: RequestTrace): void {
    if (!this.#running.delete(trace) || this.#capacity === 0 || trace.tokenId === '') return;
    if (this.#plain.size + this.#remarkable.size >= this.#capacity) this.#makeRoom();
    (isRemarkable(trace, this.slowMs) ? this.#remarkable : this.#plain).push(trace);
  }

  /** Undefined for a request that is not known, or not any more. */
  find(requestId: string): RequestStory | undefined {
    for (const story of this.#all()) if (story.requestId === requestId) return story;
    return undefined;
  }

  /** Up to `limit` requests that match, those first that came last. */
  latest(limit: number, matches: (story: RequestStory) => boolean): readonly RequestStory[] {
    const matching = [...this.#all()].filter(matches);
    return matching.sort((one, other) => other.receivedAtMs - one.receivedAtMs).slice(0, limit);
  }

  #makeRoom(): void {
    if (this.#remarkable.size * 2 > this.#capacity || this.#plain.size === 0) this.#remarkable.shift();
    else this.#plain.shift();
  }

  *#all(): Generator<RequestStory> {
    for (const trace of this.#running) if (trace.tokenId !== '') yield trace;
    yield* this.#remarkable.newestFirst();
    yield* this.#plain.newestFirst();
  }
}
