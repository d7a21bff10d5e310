import { setTimeout as sleep } from 'node:timers/promises';
import type { LimiterService, SettleRequest } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { CallOptions, Client } from '@gateway/rpc';
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
  /** Pause between offers of what was not taken; a second unless told. */
  readonly retryMs?: number;
}

/** Beyond this the oldest are dropped: the limiter reloads its counters from the ledger when it lost them. */
const maxWaiting = 100_000;

/** Charges finished requests to the day budget. What the limiter did not take is offered again under the same id. */
export class DayBudgetCharger implements AsyncDisposable {
  readonly #options: DayBudgetChargerOptions;
  readonly #callOptions: CallOptions;
  readonly #stop = new AbortController();
  readonly #waiting: Charge[] = [];
  #retrying: Promise<void> | undefined;

  constructor(options: DayBudgetChargerOptions) {
    this.#options = options;
    this.#callOptions = { timeoutMs: options.timeoutMs };
  }

  /** Resolves when the charge is seen by the next request, or when it has to wait for the limiter. Never throws. */
  charge(charge: Charge): Promise<void> {
    return this.#settle(charge).catch((fault: unknown) => this.#offerAgain(charge, fault));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#retrying;
  }

  #offerAgain(charge: Charge, fault: unknown): void {
    this.#options.onFault(fault, charge.requestId);
    this.#options.totals.noteUncharged(charge.key, charge.localDay, charge.tokens);
    if (this.#waiting.length >= maxWaiting) this.#waiting.shift();
    this.#waiting.push(charge);
    this.#retrying ??= this.#retryUntilEmpty().finally(() => {
      this.#retrying = undefined;
    });
  }

  async #settle({ key, requestId, localDay, tokens }: Charge): Promise<void> {
    const request: SettleRequest = {
      $typeName: 'gateway.limiter.v1.SettleRequest',
      key,
      requestId,
      localDay,
      tokens: BigInt(tokens),
    };
    const { usedTokens } = await this.#options.limiter.settle(request, this.#callOptions);
    this.#options.totals.noteTotal(key, localDay, Number(usedTokens));
  }

  async #retryUntilEmpty(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#stop.signal.aborted) {
      await sleep(this.#options.retryMs ?? 1_000, undefined, { signal: this.#stop.signal }).catch(() => undefined);
      await this.#retryOnce();
    }
  }

  /** Offers the waiting charges in order, up to the first that is not taken. */
  async #retryOnce(): Promise<void> {
    for (let next = this.#waiting[0]; next !== undefined && !this.#stop.signal.aborted; next = this.#waiting[0]) {
      try {
        await this.#settle(next);
      } catch (fault) {
        return this.#options.onFault(fault, next.requestId);
      }
      this.#waiting.shift();
    }
  }
}
