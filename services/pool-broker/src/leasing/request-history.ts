import type { Attempt, AttemptResult } from '../accounts/attempt.ts';
import type { RequestHistory } from '../selection/fitness.ts';

/** What one request has met: its attempts, and the accounts whose last place another request took just before it. */
export class LeasingHistory implements RequestHistory {
  readonly attempts: number;
  readonly #tried: ReadonlyMap<string, AttemptResult>;
  readonly #overtaken = new Set<string>();

  constructor(attempts: readonly Attempt[]) {
    this.attempts = attempts.length;
    this.#tried = new Map(attempts.map(({ accountId, model, outcome }) => [`${accountId}\n${model}`, outcome.result]));
  }

  triedResult(accountId: string, model: string): AttemptResult | undefined {
    // Asked of every account, and most requests have tried none.
    if (this.#tried.size === 0) return undefined;
    return this.#tried.get(`${accountId}\n${model}`);
  }

  wasOvertakenAt(accountId: string): boolean {
    return this.#overtaken.has(accountId);
  }

  noteOvertakenAt(accountId: string): void {
    this.#overtaken.add(accountId);
  }
}
