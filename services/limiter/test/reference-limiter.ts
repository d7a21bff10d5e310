import { addLocalDays, endOfLocalDayMs, type LocalDay, localDayOf } from '@gateway/time';
import type { PlainCostKind as CostKind, PlainStatus as LimitStatus, PlainLimits as Limits } from './plain-store.ts';

/** The limits exactly as specified: a list of instants and a sum, without regard for speed. */
export class ReferenceLimiter {
  readonly #entries: { readonly requestId: string; readonly atMs: number }[] = [];
  readonly #settled = new Map<
    LocalDay,
    { readonly requestId: string; readonly tokens: number; readonly atMs: number }[]
  >();

  admit(requestId: string, limits: Limits, costKind: CostKind, nowMs: number) {
    const repeated = limits.requestsPerMinute !== undefined && this.#live(nowMs).some((e) => e.requestId === requestId);
    const admitted = repeated || this.#hasRoom(limits, costKind, nowMs);
    const fresh = admitted && !repeated && limits.requestsPerMinute !== undefined;
    if (fresh) this.#entries.push({ requestId, atMs: nowMs });
    return {
      admitted,
      status: this.status(limits, nowMs),
      retryAtMs: admitted ? undefined : this.#retryAtMs(limits, costKind, nowMs),
    };
  }

  status(limits: Limits, nowMs: number): LimitStatus {
    const live = this.#live(nowMs);
    const { requestsPerMinute, tokensPerDay } = limits;
    const localDay = localDayOf(nowMs);
    return {
      requests:
        requestsPerMinute === undefined
          ? undefined
          : {
              limit: requestsPerMinute,
              remaining: Math.max(0, requestsPerMinute - live.length),
              emptyAtMs: Math.max(nowMs, ...live.map((entry) => entry.atMs + 60_000)),
              nextSlotAtMs: this.#firstRoomMs({ requestsPerMinute, tokensPerDay: undefined }, 'request_only', nowMs),
              resetsAtMs: this.#resetsAtMs(requestsPerMinute, nowMs),
            },
      tokens:
        tokensPerDay === undefined
          ? undefined
          : {
              limit: tokensPerDay,
              remaining: Math.max(0, tokensPerDay - this.used(localDay)),
              resetsAtMs: endOfLocalDayMs(localDay),
            },
      localDay,
      degraded: false,
    };
  }

  settle(requestId: string, day: LocalDay, tokens: number, nowMs: number): number {
    const settled = this.#settled.get(day) ?? [];
    this.#settled.set(day, settled);
    const repeated = settled.some((one) => one.requestId === requestId && one.atMs > nowMs - 120_000);
    if (tokens > 0 && !repeated) settled.push({ requestId, tokens, atMs: nowMs });
    return this.used(day);
  }

  used(day: LocalDay): number {
    const settled = this.#settled.get(day) ?? [];
    return settled.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  #live(nowMs: number) {
    return this.#entries.filter((entry) => entry.atMs > nowMs - 60_000);
  }

  #hasRoom({ requestsPerMinute, tokensPerDay }: Limits, costKind: CostKind, atMs: number): boolean {
    const inWindow = requestsPerMinute === undefined || this.#live(atMs).length < requestsPerMinute;
    const inBudget =
      costKind === 'request_only' || tokensPerDay === undefined || this.used(localDayOf(atMs)) < tokensPerDay;
    return inWindow && inBudget;
  }

  /** When the window next has one more free slot than now. */
  #resetsAtMs(limit: number, nowMs: number): number {
    if (limit === 0) return nowMs + 60_000;
    const free = (atMs: number) => Math.max(0, limit - this.#live(atMs).length);
    const leaving = this.#live(nowMs).map((entry) => entry.atMs + 60_000);
    return leaving.toSorted((a, b) => a - b).find((atMs) => free(atMs) > free(nowMs)) ?? nowMs;
  }

  /** A limit of 0 never has room: the client may ask again after one period. */
  #retryAtMs({ requestsPerMinute, tokensPerDay }: Limits, costKind: CostKind, nowMs: number): number | undefined {
    const today = localDayOf(nowMs);
    if (tokensPerDay === 0 && costKind === 'request_and_tokens') {
      const inWindow = this.#retryAtMs({ requestsPerMinute, tokensPerDay: undefined }, 'request_only', nowMs);
      return Math.max(endOfLocalDayMs(today), inWindow ?? nowMs);
    }
    if (requestsPerMinute === 0) {
      const isSpent = costKind === 'request_and_tokens' && this.used(today) >= (tokensPerDay ?? Infinity);
      return Math.max(nowMs + 60_000, isSpent ? endOfLocalDayMs(today) : nowMs);
    }
    return this.#firstRoomMs({ requestsPerMinute, tokensPerDay }, costKind, nowMs);
  }

  /**
   * The first instant at which the same request would be admitted, found by trying each instant at
   * which anything changes.
   */
  #firstRoomMs(limits: Limits, costKind: CostKind, nowMs: number): number | undefined {
    const today = localDayOf(nowMs);
    const moments = [nowMs, endOfLocalDayMs(today), ...this.#entries.map((entry) => entry.atMs + 60_000)];
    return moments
      .filter((atMs) => atMs >= nowMs)
      .toSorted((a, b) => a - b)
      .find((atMs) => this.#hasRoom(limits, costKind, atMs));
  }
}

export function dayBefore(day: LocalDay): LocalDay {
  return addLocalDays(day, -1);
}
