import type { PoolSettings } from '@gateway/config';

/**
 * Limits retries after errors to a share of the load of the last ten seconds. If each replica keeps
 * to its share, all together do.
 */
export class RetryBudget {
  readonly #seconds = new Map<number, { requests: number; retries: number }>();

  noteRequest(nowMs: number): void {
    this.#current(nowMs).requests += 1;
  }

  /** Spends a retry. False: the budget is exhausted. */
  takeRetry({ retryBudgetShare: share, retryBudgetFloorPerSecond: floor }: RetryRules, nowMs: number): boolean {
    const current = this.#current(nowMs);
    const sumOf = (kind: 'requests' | 'retries') =>
      this.#seconds.values().reduce((sum, second) => sum + second[kind], 0);
    if (sumOf('retries') + 1 > Math.max(floor * windowSeconds, share * sumOf('requests'))) return false;
    current.retries += 1;
    return true;
  }

  #current(nowMs: number) {
    const second = Math.floor(nowMs / 1_000);
    for (const passed of this.#seconds.keys()) {
      if (passed <= second - windowSeconds) this.#seconds.delete(passed);
    }
    return this.#seconds.getOrInsertComputed(second, () => ({ requests: 0, retries: 0 }));
  }
}

type RetryRules = Pick<PoolSettings, 'retryBudgetShare' | 'retryBudgetFloorPerSecond'>;

const windowSeconds = 10;
