import type { Clock, LocalDay } from '@gateway/time';
import type { DayTotalSource } from './day-total-source.ts';

export interface DayTotalsOptions {
  readonly source: DayTotalSource;
  readonly clock: Clock;
  readonly onFailure: (thrown: unknown) => void;
  /** How long an admission waits for a total. */
  readonly timeoutMs?: number;
  /** While loading fails, how often it is tried again. */
  readonly retryEveryMs?: number;
}

/**
 * Loads day totals, each once however many requests ask for it. While the ledger fails, one request in a while tries
 * it and the others go on at once without: a ledger that hangs must not slow every request down.
 */
export class DayTotals {
  readonly #source: DayTotalSource;
  readonly #clock: Clock;
  readonly #onFailure: (thrown: unknown) => void;
  readonly #timeoutMs: number;
  readonly #retryEveryMs: number;
  readonly #loading = new Map<string, Promise<number | undefined>>();
  #retryAtMs: number | undefined;

  constructor({ source, clock, onFailure, timeoutMs = 500, retryEveryMs = 1_000 }: DayTotalsOptions) {
    this.#source = source;
    this.#clock = clock;
    this.#onFailure = onFailure;
    this.#timeoutMs = timeoutMs;
    this.#retryEveryMs = retryEveryMs;
  }

  covers(key: string): boolean {
    return this.#source.covers(key);
  }

  /** Tokens of the key on that day; undefined when they can't be learnt now. */
  async load(key: string, day: LocalDay): Promise<number | undefined> {
    const name = `${day}/${key}`;
    const running = this.#loading.get(name);
    if (running !== undefined) return running;
    if (!this.#mayTry()) return undefined;
    const loading = this.#attempt(key, day).finally(() => this.#loading.delete(name));
    this.#loading.set(name, loading);
    return loading;
  }

  #mayTry(): boolean {
    if (this.#retryAtMs === undefined) return true;
    if (this.#clock.nowMs() < this.#retryAtMs) return false;
    this.#retryAtMs = this.#clock.nowMs() + this.#retryEveryMs;
    return true;
  }

  async #attempt(key: string, day: LocalDay): Promise<number | undefined> {
    try {
      const total = await this.#inTime(this.#source.loadDayTotal(key, day, this.#timeoutMs));
      this.#retryAtMs = undefined;
      return total;
    } catch (thrown) {
      this.#retryAtMs = this.#clock.nowMs() + this.#retryEveryMs;
      this.#onFailure(thrown);
      return undefined;
    }
  }

  #inTime(loading: Promise<number>): Promise<number> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new Error(`the usage ledger took longer than ${this.#timeoutMs} ms`));
      const timer = setTimeout(late, this.#timeoutMs);
      loading.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}
