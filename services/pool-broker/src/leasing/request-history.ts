import type { Attempt, AttemptResult } from '../accounts/attempt.ts';
import type { RequestHistory } from '../selection/fitness.ts';

/** What one request has met: its attempts, and the accounts whose last place another request took just before it. */
export class LeasingHistory implements RequestHistory {
  readonly #attempts: readonly Attempt[];
  // Asked of every account, and most requests were overtaken nowhere.
  #overtaken: readonly string[] = none;

  constructor(attempts: readonly Attempt[]) {
    this.#attempts = attempts;
  }

  get attempts(): number {
    return this.#attempts.length;
  }

  triedResult(accountId: string, model: string): AttemptResult | undefined {
    // Few at most, and most requests have tried none.
    for (let at = this.#attempts.length - 1; at >= 0; at -= 1) {
      const attempt = this.#attempts[at];
      if (attempt?.accountId === accountId && attempt.model === model) return attempt.outcome.result;
    }
    return undefined;
  }

  wasOvertakenAt(accountId: string): boolean {
    return this.#overtaken.includes(accountId);
  }

  noteOvertakenAt(accountId: string): void {
    this.#overtaken = [...this.#overtaken, accountId];
  }
}

const none: readonly string[] = [];
