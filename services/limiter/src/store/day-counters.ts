import type { LocalDay } from '@gateway/time';
import { dayForgottenAtMs } from '../windows/day-budget.ts';
import { RequestTable } from '../windows/request-table.ts';
import { DayMaps } from './day-maps.ts';

export interface DayCounter {
  /** What the ledger said; tokens from before the store began to count, to begin with. */
  base: number | undefined;
  /** Tokens that are not in the base. */
  settled: number;
  /** Of the settled ones, those that the ledger will have: tokens by request. */
  readonly pending: RequestTable;
  /** Of the settled ones, those of requests that came when too many were pending. */
  unlisted: number;
  /** Of the reconciliation that was begun last. */
  ticket: string | undefined;
  /** Until then no other may begin. */
  pausedUntilMs: number;
  readonly forgottenAtMs: number;
  /** Tells the counter's requests from those of others. */
  readonly number: number;
}

export interface DayCountersOptions {
  /** Counters of each day. */
  readonly maxKeys: number;
  /** Requests that are known again, besides pending ones. */
  readonly maxToldIds: number;
}

/** Day counters, and which requests are in them. */
export class DayCounters {
  readonly #counters: DayMaps<DayCounter>;
  readonly #maxToldIds: number;
  /** Requests that count without being pending, and until when they are known again: those used least recently first. */
  readonly #told = new RequestTable();
  #begun = 0;

  constructor({ maxKeys, maxToldIds }: DayCountersOptions) {
    this.#counters = new DayMaps({ maxEntries: maxKeys, isIdle: (day, nowMs) => day.forgottenAtMs <= nowMs });
    this.#maxToldIds = maxToldIds;
  }

  get size(): number {
    return this.#counters.size;
  }

  get(key: string, day: LocalDay): DayCounter | undefined {
    return this.#counters.get(key, day);
  }

  /** The counter, which begins when there is none. */
  open(key: string, day: LocalDay): DayCounter {
    const known = this.#counters.get(key, day);
    if (known !== undefined) return known;
    const counter: DayCounter = {
      base: undefined,
      settled: 0,
      pending: new RequestTable(),
      unlisted: 0,
      ticket: undefined,
      pausedUntilMs: 0,
      forgottenAtMs: dayForgottenAtMs(day),
      number: this.#begun,
    };
    this.#begun = (this.#begun + 1) % maxNumbers;
    this.#counters.set(key, day, counter);
    return counter;
  }

  /** Forgets the counters of days that are long over. */
  forgetOver(nowMs: number): void {
    this.#counters.forgetIdle(nowMs);
  }

  /** Forgets what was used, so that it is asked for anew. Requests that count without being pending stay known. */
  forgetTotals(): void {
    for (const counter of this.#counters.values()) {
      counter.base = undefined;
      counter.settled = 0;
      counter.pending.clear();
      counter.unlisted = 0;
      counter.ticket = undefined;
      counter.pausedUntilMs = 0;
    }
  }

  /** Whether a request is in the counter, as far as that is known. */
  holds(counter: DayCounter, requestId: string, nowMs: number): boolean {
    if (counter.pending.has(requestId)) return true;
    const untilMs = this.#told.get(requestId, counter.number);
    if (untilMs === undefined || untilMs <= nowMs) return false;
    this.#told.set(requestId, untilMs, counter.number);
    return true;
  }

  /** Takes note of a request that counts, and is not pending. */
  noteTold(counter: DayCounter, requestId: string, nowMs: number): void {
    while ((this.#told.at(0) ?? Infinity) <= nowMs) this.#told.deleteOldest();
    this.#told.set(requestId, nowMs + toldMs, counter.number);
    if (this.#told.size > this.#maxToldIds) this.#told.deleteOldest();
  }
}

/** For how long a request that counts already is known again when it is settled once more. */
const toldMs = 120_000;
/** Far more counters than begin while a request is known. */
const maxNumbers = 2 ** 31;
