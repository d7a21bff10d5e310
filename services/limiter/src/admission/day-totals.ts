import type { Clock, LocalDay } from '@gateway/time';
import type { LedgerSnapshot } from '../store/limit-store.ts';
import type { DayTotalQuestion, DayTotalSource } from './day-total-source.ts';

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

  /** Whether nothing is asked for a moment, because the ledger failed. */
  get isResting(): boolean {
    return this.#retryAtMs !== undefined && this.#clock.nowMs() < this.#retryAtMs;
  }

  /** Tokens of the key on that day; undefined when they can't be learnt now. Many who ask at a time share one answer. */
  async load(key: string, day: LocalDay): Promise<number | undefined> {
    const name = `${day}/${key}`;
    const running = this.#loading.get(name);
    if (running !== undefined) return running;
    if (!this.#mayTry()) return undefined;
    const loading = this.#attempt({ key, day, requestIds: [] }, this.#timeoutMs)
      .then((snapshot) => snapshot?.totalTokens)
      .finally(() => this.#loading.delete(name));
    this.#loading.set(name, loading);
    return loading;
  }

  /** What the ledger has of the key's day, and of these requests; undefined when it can't be learnt now. */
  async snapshot(question: DayTotalQuestion, timeoutMs: number): Promise<LedgerSnapshot | undefined> {
    return this.#mayTry() ? this.#attempt(question, timeoutMs) : undefined;
  }

  #mayTry(): boolean {
    if (this.isResting) return false;
    if (this.#retryAtMs !== undefined) this.#retryAtMs = this.#clock.nowMs() + this.#retryEveryMs;
    return true;
  }

  async #attempt(question: DayTotalQuestion, timeoutMs: number): Promise<LedgerSnapshot | undefined> {
    try {
      const snapshot = await inTime(timeoutMs, this.#source.loadDayTotal(question, timeoutMs));
      this.#retryAtMs = undefined;
      return snapshot;
    } catch (thrown) {
      this.#retryAtMs = this.#clock.nowMs() + this.#retryEveryMs;
      this.#onFailure(thrown);
      return undefined;
    }
  }
}

function inTime<T>(timeoutMs: number, loading: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`the usage ledger took longer than ${timeoutMs} ms`));
    const timer = setTimeout(late, timeoutMs);
    loading.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
