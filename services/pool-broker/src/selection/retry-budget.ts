import type { PoolSettings } from '@gateway/config';
import type { Clock } from '@gateway/time';

/**
 * Limits retries after errors to a share of the load of the last ten seconds. If each replica keeps
 * to its share, all together do.
 */
export class RetryBudget {
  readonly #clock: Clock;
  readonly #seconds = new Map<number, { requests: number; retries: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  noteRequest(): void {
    this.#current().requests += 1;
  }

  /** Spends a retry. False: the budget is exhausted. */
  takeRetry({ retryBudgetShare: share, retryBudgetFloorPerSecond: floor }: RetryRules): boolean {
    const current = this.#current();
    const sumOf = (kind: 'requests' | 'retries') =>
      this.#seconds.values().reduce((sum, second) => sum + second[kind], 0);
    if (sumOf('retries') + 1 > Math.max(floor * windowSeconds, share * sumOf('requests'))) return false;
    current.retries += 1;
    return true;
  }

  #current() {
    const second = Math.floor(this.#clock.nowMs() / 1_000);
    for (const passed of this.#seconds.keys()) {
      if (passed <= second - windowSeconds) this.#seconds.delete(passed);
    }
    return this.#seconds.getOrInsertComputed(second, () => ({ requests: 0, retries: 0 }));
  }
}

type RetryRules = Pick<PoolSettings, 'retryBudgetShare' | 'retryBudgetFloorPerSecond'>;

const windowSeconds = 10;
