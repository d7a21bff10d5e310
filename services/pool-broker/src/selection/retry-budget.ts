import type { Clock } from '@gateway/time';

export interface RetryBudgetRules {
  /** Share of requests, 0 to 1, that may be spent on further attempts. */
  readonly share: number;
  /** Allowed in any case. */
  readonly floorPerSecond: number;
}

/**
 * Keeps further attempts after errors to a share of the load, so that a provider in trouble is not asked several times as
 * much. Counts the last ten seconds of this replica: where each of several replicas keeps to its share of what it has seen
 * itself, all of them together keep to that share of all.
 */
export class RetryBudget {
  readonly #rules: RetryBudgetRules;
  readonly #clock: Clock;
  readonly #seconds: { second: number; requests: number; retries: number }[] = [];

  constructor(rules: RetryBudgetRules, clock: Clock) {
    this.#rules = rules;
    this.#clock = clock;
  }

  noteRequest(): void {
    this.#current().requests += 1;
  }

  /** Spends a retry. False: there is none to spend. */
  takeRetry(): boolean {
    const current = this.#current();
    const requests = this.#seconds.reduce((sum, second) => sum + second.requests, 0);
    const retries = this.#seconds.reduce((sum, second) => sum + second.retries, 0);
    if (retries + 1 > Math.max(this.#rules.floorPerSecond * windowSeconds, this.#rules.share * requests)) return false;
    current.retries += 1;
    return true;
  }

  #current() {
    const second = Math.floor(this.#clock.nowMs() / 1_000);
    while (this.#seconds[0] !== undefined && this.#seconds[0].second <= second - windowSeconds) this.#seconds.shift();
    const last = this.#seconds.at(-1);
    if (last !== undefined && last.second >= second) return last;
    const current = { second, requests: 0, retries: 0 };
    this.#seconds.push(current);
    return current;
  }
}

const windowSeconds = 10;
