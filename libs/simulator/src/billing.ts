/** Tokens that a provider bills. */
export interface BilledTokens {
  /** Input tokens, cached ones and those written to the cache included. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Output tokens, reasoning included. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export interface BilledTotal extends BilledTokens {
  /** Requests for which anything was billed. */
  readonly requests: number;
}

export interface BilledReport {
  readonly total: BilledTotal;
  readonly accounts: Readonly<Record<string, BilledTotal>>;
}

export const nothingBilled: BilledTokens = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };

const maximumAccounts = 10_000;
/** Collects what accounts beyond the maximum are billed. */
const otherAccounts = '(others)';

/** What each account was billed since the start or the last reset. */
export class Ledger {
  #accounts = new Map<string, BilledTotal>();

  /** Changes what one request is billed from one amount to another. */
  rebill(account: string, before: BilledTokens, after: BilledTokens): void {
    const key = this.#accounts.has(account) || this.#accounts.size < maximumAccounts ? account : otherAccounts;
    const total = this.#accounts.get(key) ?? { requests: 0, ...nothingBilled };
    this.#accounts.set(key, {
      requests: total.requests + (before === nothingBilled ? 1 : 0),
      inputTokens: total.inputTokens + after.inputTokens - before.inputTokens,
      cachedTokens: total.cachedTokens + after.cachedTokens - before.cachedTokens,
      outputTokens: total.outputTokens + after.outputTokens - before.outputTokens,
      reasoningTokens: total.reasoningTokens + after.reasoningTokens - before.reasoningTokens,
    });
  }

  report(): BilledReport {
    const totals = [...this.#accounts.values()];
    return {
      total: totals.reduce(addTotals, { requests: 0, ...nothingBilled }),
      accounts: Object.fromEntries(this.#accounts),
    };
  }

  reset(): void {
    this.#accounts = new Map();
  }
}

function addTotals(left: BilledTotal, right: BilledTotal): BilledTotal {
  return {
    requests: left.requests + right.requests,
    inputTokens: left.inputTokens + right.inputTokens,
    cachedTokens: left.cachedTokens + right.cachedTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    reasoningTokens: left.reasoningTokens + right.reasoningTokens,
  };
}
