import { randomUUID } from 'node:crypto';
import type { ReplicaPlace } from '@gateway/lifecycle/replica-share';
import type { Clock, LocalDay } from '@gateway/time';
import { daySpanAt } from '../windows/day-budget.ts';
import { decide } from '../windows/decide.ts';
import type { KeyFacts } from '../windows/key-facts.ts';
import { admittedWith, type Decision, refusedWith, statusOf } from '../windows/limit-status.ts';
import { emptyWindow } from '../windows/minute-window.ts';
import type { KeptAdmission } from './admission-file.ts';
import { type DayCounter, DayCounters } from './day-counters.ts';
import type {
  AdmitCheck,
  DayBaseUnknown,
  DayTotal,
  KeyQuestion,
  LimitStore,
  ReconciledDay,
  RecordedAdmission,
  Settlement,
} from './limit-store.ts';
import { maxPendingIds } from './max-pending-ids.ts';
import { MinuteWindows, type SeenWindow } from './minute-windows.ts';
import { ReplicaGroups } from './replica-groups.ts';

export interface MemoryLimitStoreOptions {
  readonly clock: Clock;
  /** Keys whose window is kept, and day counters. Beyond it the least recently used begin anew. */
  readonly maxKeys: number;
  /** Settled requests that are known again, besides pending ones: one repeated after so many others counts twice. */
  readonly maxSettledIds?: number;
  /** False for a store that is never reconciled with a ledger: no request is kept as pending. Default true. */
  readonly isReconciled?: boolean;
  /** Admissions that windows may hold for others to be recorded too; unlimited unless told. */
  readonly maxRecorded?: number;
  /** Is given each request that takes a slot here, before it is answered. */
  readonly onAdmitted?: (admission: KeptAdmission) => void;
  /** For tests only. */
  readonly maxPendingIds?: number;
}

/** Windows and counters of one process. Exact and bounded. */
export class MemoryLimitStore implements LimitStore {
  readonly #clock: Clock;
  readonly #isReconciled: boolean;
  readonly #maxRecorded: number;
  readonly #maxPendingIds: number;
  readonly #onAdmitted: ((admission: KeptAdmission) => void) | undefined;
  readonly #windows: MinuteWindows;
  readonly #days: DayCounters;
  readonly #replicas = new ReplicaGroups();

  constructor({ clock, maxKeys, maxSettledIds = 100_000, ...options }: MemoryLimitStoreOptions) {
    this.#isReconciled = options.isReconciled ?? true;
    this.#maxRecorded = options.maxRecorded ?? Infinity;
    this.#maxPendingIds = options.maxPendingIds ?? maxPendingIds;
    this.#onAdmitted = options.onAdmitted;
    this.#clock = clock;
    this.#windows = new MinuteWindows(maxKeys);
    this.#days = new DayCounters({ maxKeys, maxToldIds: maxSettledIds });
  }

  /** Windows and day counters that are held now. */
  get size(): number {
    return this.#windows.size + this.#days.size;
  }

  admit(check: AdmitCheck): Decision | DayBaseUnknown {
    const seen = this.#look(check);
    if ('kind' in seen) return seen;
    const { window, facts } = seen;
    const { limits, costKind, requestId } = check;
    if (window?.has(requestId)) return admittedWith(limits, facts);
    if (decide({ limits, costKind, facts }) !== undefined) return refusedWith(limits, costKind, facts);
    if (limits.requestsPerMinute === undefined) return admittedWith(limits, facts);
    const taken = window ?? this.#windows.begin(check.key);
    this.#windows.take(taken, requestId, facts.nowMs);
    this.#onAdmitted?.({ key: check.key, requestId, enteredMs: facts.nowMs });
    return admittedWith(limits, { ...facts, requests: taken.facts(limits.requestsPerMinute) });
  }

  async admitAll(checks: readonly AdmitCheck[]): Promise<readonly (Decision | DayBaseUnknown)[]> {
    return checks.map((check) => this.admit(check));
  }

  settle({ key, requestId, localDay, tokens, dayBase }: Settlement): DayTotal {
    const nowMs = this.#clock.nowMs();
    this.#days.forgetOver(nowMs);
    const callersBase = dayBase(localDay);
    // What adds nothing begins no counter.
    const day = tokens === 0 ? this.#days.get(key, localDay) : this.#days.open(key, localDay);
    if (day !== undefined && tokens !== 0 && !this.#days.holds(day, requestId, nowMs)) {
      day.settled = plus(day.settled, tokens);
      this.#note(day, requestId, tokens, this.#isReconciled && callersBase === undefined);
    }
    const base = day?.base ?? callersBase;
    return { usedTokens: (base ?? 0) + (day?.settled ?? 0), baseKnown: base !== undefined };
  }

  async settleAll(settlements: readonly Settlement[]): Promise<readonly DayTotal[]> {
    return settlements.map((settlement) => this.settle(settlement));
  }

  async peek(question: KeyQuestion): ReturnType<LimitStore['peek']> {
    const seen = this.#look(question);
    return 'kind' in seen ? seen : { kind: 'status', status: statusOf(question.limits, seen.facts) };
  }

  async rememberDayBase(key: string, day: LocalDay, tokens: number): Promise<number> {
    return this.giveDayBase(key, day, tokens);
  }

  giveDayBase(key: string, day: LocalDay, tokens: number): number {
    const counter = this.#days.open(key, day);
    counter.base ??= tokens;
    return counter.base + counter.settled;
  }

  async beginReconciliation(...[key, localDay, { pauseMs, force }]: Parameters<LimitStore['beginReconciliation']>) {
    const day = this.#days.open(key, localDay);
    const nowMs = this.#clock.nowMs();
    if (nowMs < day.pausedUntilMs && !force) return undefined;
    day.pausedUntilMs = nowMs + pauseMs;
    day.ticket = randomUUID();
    return { ticket: day.ticket, pendingIds: Array.from(day.pending, ([requestId]) => requestId) };
  }

  async finishReconciliation(
    ...[key, localDay, ticket, { totalTokens, includedIds, force }]: Parameters<LimitStore['finishReconciliation']>
  ): Promise<ReconciledDay | undefined> {
    const nowMs = this.#clock.nowMs();
    const day = this.#days.open(key, localDay);
    if (day.ticket !== ticket) return undefined;
    const usedTokensBefore = day.base === undefined ? undefined : day.base + day.settled;
    day.base = force ? totalTokens : Math.max(totalTokens, day.base ?? 0);
    for (const requestId of includedIds) {
      const tokens = day.pending.delete(requestId);
      if (tokens === undefined) continue;
      day.settled -= tokens;
      this.#days.noteTold(day, requestId, nowMs);
    }
    if (day.pending.size * 2 <= this.#maxPendingIds) {
      day.settled -= day.unlisted;
      day.unlisted = 0;
    }
    day.settled = Math.max(0, day.settled);
    return { usedTokensBefore, usedTokensAfter: day.base + day.settled, pendingTokens: day.settled };
  }

  /** Takes note of requests that took their slots elsewhere, as far as there is room for them. */
  async recordAdmissions(key: string, admissions: readonly RecordedAdmission[]): Promise<void> {
    const clockMs = this.#clock.nowMs();
    this.#windows.forgetIdle(clockMs);
    for (const admission of admissions) {
      if (this.#windows.admissions < this.#maxRecorded) this.#windows.record(key, admission, clockMs);
    }
  }

  async heartbeat(group: string, replicaId: string): Promise<ReplicaPlace> {
    return this.#replicas.heartbeat(group, replicaId, this.#clock.nowMs());
  }

  /** As `recordAdmissions`, of a request that took its slot elsewhere just now. */
  noteAdmission(key: string, requestId: string): void {
    const clockMs = this.#clock.nowMs();
    this.#windows.forgetIdle(clockMs);
    if (this.#windows.admissions < this.#maxRecorded) this.#windows.record(key, { requestId, ageMs: 0 }, clockMs);
  }

  /** What was admitted at `fromMs` or after it, by key. */
  admittedSince(fromMs: number): Iterable<readonly [string, readonly RecordedAdmission[]]> {
    return this.#windows.admittedSince(fromMs, this.#clock.nowMs());
  }

  /** Forgets what was used, so that it is asked for anew; who settled stays known, and so do the windows. */
  forgetDayTotals(): void {
    this.#days.forgetTotals();
  }

  /** Takes note of a request that counts from now on, so that it is known again. */
  #note(day: DayCounter, requestId: string, tokens: number, hasLedger: boolean): void {
    const hasRoom = day.pending.size < this.#maxPendingIds;
    if (hasLedger && hasRoom) day.pending.add(requestId, tokens);
    else this.#days.noteTold(day, requestId, this.#clock.nowMs());
    if (hasLedger && !hasRoom) day.unlisted = plus(day.unlisted, tokens);
  }

  #look({ key, limits, dayBase }: KeyQuestion): Seen | DayBaseUnknown {
    const clockMs = this.#clock.nowMs();
    this.#windows.forgetIdle(clockMs);
    this.#days.forgetOver(clockMs);
    const { day } = daySpanAt(clockMs);
    const usedTokens = limits.tokensPerDay === undefined ? 0 : this.#usedTokens(key, day, dayBase(day));
    if (usedTokens === undefined) return { kind: 'day_base_unknown', localDay: day };
    if (limits.requestsPerMinute === undefined) {
      return { window: undefined, facts: { nowMs: clockMs, localDay: day, requests: emptyWindow, usedTokens } };
    }
    const { window, nowMs = clockMs }: Partial<SeenWindow> = this.#windows.look(key, clockMs) ?? {};
    const requests = window?.facts(limits.requestsPerMinute) ?? emptyWindow;
    return { window, facts: { nowMs, localDay: day, requests, usedTokens } };
  }

  #usedTokens(key: string, day: LocalDay, knownBase: number | undefined): number | undefined {
    const counter = this.#days.get(key, day);
    const base = counter?.base ?? knownBase;
    return base === undefined ? undefined : base + (counter?.settled ?? 0);
  }
}

interface Seen {
  /** Undefined when the key has none yet, or its requests are not limited. */
  readonly window: SeenWindow['window'] | undefined;
  readonly facts: KeyFacts;
}

/** Stands still at the largest exact number. */
function plus(counted: number, tokens: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, counted + tokens);
}
