import { randomUUID } from 'node:crypto';
import type { Clock, LocalDay } from '@gateway/time';
import { dayForgottenAtMs, daySpanAt } from '../windows/day-budget.ts';
import { decide } from '../windows/decide.ts';
import type { KeyFacts } from '../windows/key-facts.ts';
import { admittedWith, type Decision, refusedWith, statusOf } from '../windows/limit-status.ts';
import { emptyWindow, MinuteWindow } from '../windows/minute-window.ts';
import { BoundedMap } from './bounded-map.ts';
import type {
  AdmitCheck,
  DayBaseUnknown,
  DayTotal,
  KeyQuestion,
  LimitStore,
  ReconciledDay,
  Settlement,
} from './limit-store.ts';

export interface MemoryLimitStoreOptions {
  readonly clock: Clock;
  /** Keys whose window is kept, and day counters. Beyond it the least recently used begin anew. */
  readonly maxKeys: number;
  /** Settled requests that are known again, besides pending ones: one repeated after so many others counts twice. */
  readonly maxSettledIds?: number;
  /** False for a store that is never reconciled with a ledger: no request is kept as pending. Default true. */
  readonly isReconciled?: boolean;
}

/** Windows and counters of one process. Exact, bounded, and empty after a restart. */
export class MemoryLimitStore implements LimitStore {
  readonly #clock: Clock;
  readonly #isReconciled: boolean;
  readonly #windows: BoundedMap<MinuteWindow>;
  readonly #days: BoundedMap<DayCounter>;
  /** Requests that count without being pending, and until when they are known again. */
  readonly #toldIds: BoundedMap<number>;

  constructor({ clock, maxKeys, maxSettledIds = 100_000, isReconciled = true }: MemoryLimitStoreOptions) {
    this.#isReconciled = isReconciled;
    this.#clock = clock;
    this.#windows = new BoundedMap({ maxEntries: maxKeys, isIdle: (window, nowMs) => window.isIdle(nowMs) });
    this.#days = new BoundedMap({ maxEntries: maxKeys, isIdle: (day, nowMs) => day.forgottenAtMs <= nowMs });
    this.#toldIds = new BoundedMap({ maxEntries: maxSettledIds, isIdle: (untilMs, nowMs) => untilMs <= nowMs });
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

  async settle({ key, requestId, localDay, tokens, dayBase }: Settlement): Promise<DayTotal> {
    this.#days.forgetIdle(this.#clock.nowMs());
    const known = this.#days.get(dayKey(key, localDay))?.base ?? dayBase(localDay);
    if (tokens !== 0 && !this.#hasSettled(key, localDay, requestId)) {
      const day = this.#day(key, localDay);
      day.settled += tokens;
      const isPending = this.#isReconciled && dayBase(localDay) === undefined && day.pending.size < maxPendingIds;
      if (isPending) day.pending.set(requestId, tokens);
      else this.#noteTold(key, localDay, requestId);
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

  async beginReconciliation(...[key, localDay, { pauseMs, force }]: Parameters<LimitStore['beginReconciliation']>) {
    const day = this.#day(key, localDay);
    const nowMs = this.#clock.nowMs();
    if (nowMs < day.pausedUntilMs && !force) return undefined;
    day.pausedUntilMs = nowMs + pauseMs;
    day.ticket = randomUUID();
    return { ticket: day.ticket, pendingIds: [...day.pending.keys().take(maxReconciledIds)] };
  }

  async finishReconciliation(
    ...[key, localDay, ticket, { totalTokens, includedIds, force }]: Parameters<LimitStore['finishReconciliation']>
  ): Promise<ReconciledDay | undefined> {
    const day = this.#day(key, localDay);
    if (day.ticket !== ticket) return undefined;
    const usedTokensBefore = day.base === undefined ? undefined : day.base + day.settled;
    day.base = force ? totalTokens : Math.max(totalTokens, day.base ?? 0);
    for (const requestId of includedIds) {
      day.settled -= day.pending.get(requestId) ?? 0;
      if (day.pending.delete(requestId)) this.#noteTold(key, localDay, requestId);
    }
    return { usedTokensBefore, usedTokensAfter: day.base + day.settled, pendingTokens: day.settled };
  }

  /** Forgets what was used, so that it is asked for anew; who settled stays known, and so do the windows. */
  forgetDayTotals(): void {
    this.#days.clear();
  }

  #hasSettled(key: string, localDay: LocalDay, requestId: string): boolean {
    if (this.#days.get(dayKey(key, localDay))?.pending.has(requestId)) return true;
    return (this.#toldIds.get(`${dayKey(key, localDay)}/${requestId}`) ?? 0) > this.#clock.nowMs();
  }

  #noteTold(key: string, localDay: LocalDay, requestId: string): void {
    const nowMs = this.#clock.nowMs();
    this.#toldIds.forgetIdle(nowMs);
    this.#toldIds.set(`${dayKey(key, localDay)}/${requestId}`, nowMs + toldMs);
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
    const counter: DayCounter = {
      base: undefined,
      settled: 0,
      pending: new Map(),
      ticket: undefined,
      pausedUntilMs: 0,
      forgottenAtMs: dayForgottenAtMs(day),
    };
    this.#days.set(dayKey(key, day), counter);
    return counter;
  }
}

/** For how long a request that counts already is known again when it is settled once more. */
const toldMs = 120_000;
/** Of one key and day. A ledger that is so far behind will have the others counted twice for a while. */
const maxPendingIds = 100_000;
/** As many as the ledger is asked for at a time. The others' turn comes with the next reconciliation. */
const maxReconciledIds = 5_000;

interface Seen {
  /** Undefined when the key has none yet, or its requests are not limited. */
  readonly window: MinuteWindow | undefined;
  readonly facts: KeyFacts;
}

interface DayCounter {
  /** What the ledger said; tokens from before the store began to count, to begin with. */
  base: number | undefined;
  /** Tokens that are not in the base. */
  settled: number;
  /** Of the settled ones, those that the ledger will have: tokens by request. */
  readonly pending: Map<string, number>;
  /** Of the reconciliation that was begun last. */
  ticket: string | undefined;
  /** Until then no other may begin. */
  pausedUntilMs: number;
  readonly forgottenAtMs: number;
}

/** The length keeps a key that contains the separator apart from others. */
function dayKey(key: string, day: LocalDay): string {
  return `${day}/${key.length}/${key}`;
}
