import type { PoolSettings } from '@gateway/config';
import type { Clock } from '@gateway/time';

/** Keeps attempts after errors to a share of the load of the last ten seconds. Replicas that each keep to it do so together. */
export class RetryBudget {
  readonly #clock: Clock;
  readonly #seconds = new Map<number, { requests: number; retries: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  noteRequest(): void {
    this.#current().requests += 1;
  }

  /** Spends a retry. False: there is none to spend. */
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
