import type { Reservation } from '@gateway/limits';
import { cancelTimer, startInterval } from '@gateway/time';
import type { EdgeLimiter } from './admit.ts';

/**
 * What running requests hold at the limiter: leases and reservations. They are renewed well before
 * the limiter gives them away. When this process dies, no one renews them, and they expire.
 */
export class Holds extends Set<Reservation> implements Disposable {
  readonly #timer;

  constructor(limiter: Pick<EdgeLimiter, 'renew'>) {
    super();
    const renew = () => (this.size > 0 ? limiter.renew([...this]) : undefined);
    this.#timer = startInterval(() => void renew(), renewEveryMs).unref();
  }

  [Symbol.dispose](): void {
    cancelTimer(this.#timer);
  }
}

/** A third of the time for which the limiter keeps a lease. */
const renewEveryMs = 5_000;
