import type { Clock } from '@gateway/time';

interface Failures {
  readonly count: number;
  readonly notBeforeMs: number;
  readonly reason: string;
}

/** Keeps this process from asking a token endpoint again at once after it failed. */
export class RefreshBackoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #failures = new Map<string, Failures>();

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Why the account's tokens can't be asked for now; undefined when they can. */
  reasonToWait(accountId: string): string | undefined {
    const failures = this.#failures.get(accountId);
    return failures !== undefined && this.#clock.nowMs() < failures.notBeforeMs ? failures.reason : undefined;
  }

  failed(accountId: string, reason: string, atLeastMs: number): void {
    const count = (this.#failures.get(accountId)?.count ?? 0) + 1;
    const guessMs = Math.min(longestMs, firstMs * 2 ** (count - 1)) * (1 + jitter * this.#random());
    const waitMs = Math.max(guessMs, Math.min(atLeastMs, longestGivenMs));
    this.#failures.set(accountId, { count, reason, notBeforeMs: this.#clock.nowMs() + waitMs });
  }

  succeeded(accountId: string): void {
    this.#failures.delete(accountId);
  }
}

const firstMs = 1_000;
const longestMs = 60_000;
const longestGivenMs = 600_000;
const jitter = 0.25;
