import type { Clock, LocalDay } from '@gateway/time';
import { dayForgottenAtMs, daySpanAt } from '../windows/day-budget.ts';
import { decide } from '../windows/decide.ts';
import type { KeyFacts } from '../windows/key-facts.ts';
import { admittedWith, type Decision, refusedWith, statusOf } from '../windows/limit-status.ts';
import { emptyWindow, MinuteWindow } from '../windows/minute-window.ts';
import { BoundedMap } from './bounded-map.ts';
import type { AdmitCheck, DayBaseUnknown, DayTotal, KeyQuestion, LimitStore, Settlement } from './limit-store.ts';

export interface MemoryLimitStoreOptions {
  readonly clock: Clock;
  /** Keys whose window is kept, and day counters. Beyond it the least recently used begin anew. */
  readonly maxKeys: number;
  /** Settled request ids that are remembered: a settle repeated after so many others counts again. */
  readonly maxSettledIds?: number;
}

/** Windows and counters of one process. Exact, bounded, and empty after a restart. */
export class MemoryLimitStore implements LimitStore {
  readonly #clock: Clock;
  readonly #windows: BoundedMap<MinuteWindow>;
  readonly #days: BoundedMap<DayCounter>;
  readonly #settledIds: BoundedMap<true>;

  constructor({ clock, maxKeys, maxSettledIds = 100_000 }: MemoryLimitStoreOptions) {
    this.#clock = clock;
    this.#windows = new BoundedMap({ maxEntries: maxKeys, isIdle: (window, nowMs) => window.isIdle(nowMs) });
    this.#days = new BoundedMap({ maxEntries: maxKeys, isIdle: (day, nowMs) => day.forgottenAtMs <= nowMs });
    this.#settledIds = new BoundedMap({ maxEntries: maxSettledIds, isIdle: () => false });
  }

  /** Windows and day counters that are held now. */
  get size(): number {
    return this.#windows.size + this.#days.size;
  }

  async admit(check: AdmitCheck): Promise<Decision | DayBaseUnknown> {
    const seen = this.#look(check);
    if ('kind' in seen) return seen;
    const { window, facts } = seen;
    const { limits, costKind, requestId } = check;
    if (window?.has(requestId)) return admittedWith(limits, facts);
    if (decide({ limits, costKind, facts }) !== undefined) return refusedWith(limits, costKind, facts);
    if (limits.requestsPerMinute === undefined) return admittedWith(limits, facts);
    const taken = window ?? this.#newWindow(check.key);
    taken.take(requestId, facts.nowMs);
    return admittedWith(limits, { ...facts, requests: taken.facts(limits.requestsPerMinute) });
  }

  async settle({ key, requestId, localDay, tokens, dayBase, replayed }: Settlement): Promise<DayTotal> {
    this.#days.forgetIdle(this.#clock.nowMs());
    const known = this.#days.get(dayKey(key, localDay))?.base ?? dayBase(localDay);
    const settledId = `${dayKey(key, localDay)}/${requestId}`;
    const left = tokens === 0 || (replayed && known === undefined) || this.#settledIds.get(settledId);
    if (!left) {
      this.#settledIds.set(settledId, true);
      this.#day(key, localDay).settled += tokens;
    }
    const settled = this.#days.get(dayKey(key, localDay))?.settled ?? 0;
    return { usedTokens: (known ?? 0) + settled, baseKnown: known !== undefined };
  }

  async peek(question: KeyQuestion): ReturnType<LimitStore['peek']> {
    const seen = this.#look(question);
    return 'kind' in seen ? seen : { kind: 'status', status: statusOf(question.limits, seen.facts) };
  }

  async rememberDayBase(key: string, day: LocalDay, tokens: number): Promise<number> {
    const counter = this.#day(key, day);
    counter.base ??= tokens;
    return counter.base + counter.settled;
  }

  /** Forgets what was used, so that it is asked for anew; who settled stays known, and so do the windows. */
  forgetDayTotals(): void {
    this.#days.clear();
  }

  #look({ key, limits, dayBase }: KeyQuestion): Seen | DayBaseUnknown {
    const clockMs = this.#clock.nowMs();
    this.#windows.forgetIdle(clockMs);
    this.#days.forgetIdle(clockMs);
    const { day } = daySpanAt(clockMs);
    const usedTokens = limits.tokensPerDay === undefined ? 0 : this.#usedTokens(key, day, dayBase(day));
    if (usedTokens === undefined) return { kind: 'day_base_unknown', localDay: day };
    if (limits.requestsPerMinute === undefined) {
      return { window: undefined, facts: { nowMs: clockMs, localDay: day, requests: emptyWindow, usedTokens } };
    }
    const window = this.#windows.get(key);
    const nowMs = window?.now(clockMs) ?? clockMs;
    window?.dropExpired(nowMs);
    const requests = window?.facts(limits.requestsPerMinute) ?? emptyWindow;
    return { window, facts: { nowMs, localDay: day, requests, usedTokens } };
  }

  #usedTokens(key: string, day: LocalDay, knownBase: number | undefined): number | undefined {
    const counter = this.#days.get(dayKey(key, day));
    const base = counter?.base ?? knownBase;
    return base === undefined ? undefined : base + (counter?.settled ?? 0);
  }

  #newWindow(key: string): MinuteWindow {
    const window = new MinuteWindow();
    this.#windows.set(key, window);
    return window;
  }

  #day(key: string, day: LocalDay): DayCounter {
    const known = this.#days.get(dayKey(key, day));
    if (known !== undefined) return known;
    const counter: DayCounter = { base: undefined, settled: 0, forgottenAtMs: dayForgottenAtMs(day) };
    this.#days.set(dayKey(key, day), counter);
    return counter;
  }
}

interface Seen {
  /** Undefined when the key has none yet, or its requests are not limited. */
  readonly window: MinuteWindow | undefined;
  readonly facts: KeyFacts;
}

interface DayCounter {
  /** Tokens from before the store began to count. */
  base: number | undefined;
  settled: number;
  readonly forgottenAtMs: number;
}

/** The length keeps a key that contains the separator apart from others. */
function dayKey(key: string, day: LocalDay): string {
  return `${day}/${key.length}/${key}`;
}
