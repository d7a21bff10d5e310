import type { RunningRequest } from '@gateway/limits';
import { cancelTimer, startInterval } from '@gateway/time';
import type { EdgeLimiter } from './admit.ts';

/**
 * The running requests that have taken places or reserved money at the limiter. They are renewed
 * well before the limiter gives their places away. When this process dies, no one renews them, and
 * they end by themselves.
 */
export class RunningRequests implements Disposable {
  readonly #limiter: Pick<EdgeLimiter, 'keep'>;
  readonly #running = new Map<string, RunningRequest>();
  readonly #timer = startInterval(() => void this.#keep(), renewEveryMs).unref();

  constructor(limiter: Pick<EdgeLimiter, 'keep'>) {
    this.#limiter = limiter;
  }

  /** The number of requests that have taken something. */
  get size(): number {
    return this.#running.size;
  }

  /** A request has taken places, or reserved money as well. */
  add(request: RunningRequest): void {
    this.#running.set(request.requestId, request);
  }

  /** False if the request has taken nothing, or has returned it already. */
  remove(requestId: string): boolean {
    return this.#running.delete(requestId);
  }

  [Symbol.dispose](): void {
    cancelTimer(this.#timer);
  }

  async #keep(): Promise<void> {
    if (this.#running.size > 0) await this.#limiter.keep([...this.#running.values()]);
  }
}

/** A third of the time for which the limiter keeps a place. */
const renewEveryMs = 5_000;
