import { setTimeout as sleep } from 'node:timers/promises';
import type { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { FallbackLimiter } from '../admission/fallback-limiter.ts';

export interface Charge {
  /** The limiter's key of the token. */
  readonly key: string;
  readonly requestId: string;
  /** The day on which the request was admitted. */
  readonly localDay: string;
  readonly tokens: number;
}

export interface DayBudgetChargerOptions {
  readonly limiter: Client<typeof LimiterService>;
  readonly timeoutMs: number;
  readonly onFault: (fault: unknown, requestId: string) => void;
  /** Takes note of what is charged, and of what has to wait for the limiter. */
  readonly totals: Pick<FallbackLimiter, 'noteTotal' | 'noteUncharged'>;
  /** Pause between offers of what was not taken. Default: 1 s. */
  readonly retryMs?: number;
}

/** Beyond this the oldest are dropped: the limiter reloads its counters from the ledger when it lost them. */
const maxWaiting = 100_000;

/** Charges finished requests to the day budget. What the limiter did not take is offered again under the same id. */
export class DayBudgetCharger implements AsyncDisposable {
  readonly #options: DayBudgetChargerOptions;
  readonly #stop = new AbortController();
  readonly #waiting: Charge[] = [];
  #retrying: Promise<void> | undefined;

  constructor(options: DayBudgetChargerOptions) {
    this.#options = options;
  }

  /** Resolves when the charge is seen by the next request, or when it has to wait for the limiter. Never rejects. */
  async charge(charge: Charge): Promise<void> {
    const { onFault, totals } = this.#options;
    try {
      await this.#settle(charge);
    } catch (fault) {
      onFault(fault, charge.requestId);
      totals.noteUncharged(charge.key, charge.localDay, charge.tokens);
      if (this.#waiting.length >= maxWaiting) this.#waiting.shift();
      this.#waiting.push(charge);
      this.#retrying ??= this.#retryUntilEmpty().finally(() => {
        this.#retrying = undefined;
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#retrying;
  }

  async #settle({ key, requestId, localDay, tokens }: Charge): Promise<void> {
    const { limiter, timeoutMs, totals } = this.#options;
    const { usedTokens } = await limiter.settle({ key, requestId, localDay, tokens: BigInt(tokens) }, { timeoutMs });
    totals.noteTotal(key, localDay, Number(usedTokens));
  }

  /** Offers the waiting charges in their order, after each failure again after a pause. */
  async #retryUntilEmpty(): Promise<void> {
    const { signal } = this.#stop;
    const pause = () => sleep(this.#options.retryMs ?? 1_000, undefined, { signal }).catch(() => undefined);
    await pause();
    for (let next = this.#waiting[0]; next !== undefined && !signal.aborted; next = this.#waiting[0]) {
      try {
        await this.#settle(next);
        // The oldest may have been dropped meanwhile.
        if (this.#waiting[0] === next) this.#waiting.shift();
      } catch (fault) {
        this.#options.onFault(fault, next.requestId);
        await pause();
      }
    }
  }
}
