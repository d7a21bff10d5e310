import type { Reservation } from '@gateway/limits';
import { cancelTimer, startInterval } from '@gateway/time';
import type { EdgeLimiter } from './admit.ts';

/**
 * What running requests have taken at the limiter: places or reserved money. It is renewed well
 * before the limiter gives it away. When this process dies, no one renews it, and it expires.
 */
export class RunningRequests extends Set<Reservation> implements Disposable {
  readonly #timer;

  constructor(limiter: Pick<EdgeLimiter, 'keep'>) {
    super();
    const keep = () => (this.size > 0 ? limiter.keep([...this]) : undefined);
    this.#timer = startInterval(() => void keep(), renewEveryMs).unref();
  }

  [Symbol.dispose](): void {
    cancelTimer(this.#timer);
  }
}

/** A third of the time for which the limiter keeps a place. */
const renewEveryMs = 5_000;
