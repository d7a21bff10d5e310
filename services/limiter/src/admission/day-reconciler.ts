import type { Clock, LocalDay } from '@gateway/time';
import type { LimiterEvents } from '../limiter-events.ts';
import { DayMaps } from '../store/day-maps.ts';
import type { LimitStore, ReconciledDay } from '../store/limit-store.ts';
import { maxPendingIds } from '../store/max-pending-ids.ts';
import { dayForgottenAtMs } from '../windows/day-budget.ts';
import type { DayTotals } from './day-totals.ts';

export interface DayReconcilerParts {
  readonly store: LimitStore;
  readonly dayTotals: DayTotals;
  readonly clock: Clock;
  readonly events: LimiterEvents;
  /** How often a day in use is compared with the ledger; ten seconds unless told. */
  readonly everyMs?: number;
}

/**
 * Keeps day counters and ledger in agreement, while requests go on. A counter is the ledger's total plus the settled
 * tokens that the ledger does not have yet; whatever a store lost (its memory, its last writes before a failover) or
 * counted twice is put right by the next comparison, as soon as the ledger has heard of it.
 *
 * Days are compared by one limiter at a time, a few at once, behind the requests: often while they are in use, and then ever more
 * rarely until they are forgotten. A token that makes no call any more needs it as well: the ledger may hear of its last requests
 * long after them, and their edge may have been killed before it could settle them.
 */
export class DayReconciler implements Disposable {
  readonly #parts: Required<DayReconcilerParts>;
  readonly #days: DayMaps<DayInUse>;
  #running = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: DayReconcilerParts) {
    this.#parts = { everyMs: 10_000, ...parts };
    this.#days = new DayMaps({ maxEntries: maxDays, isIdle: ({ forgottenAtMs }, nowMs) => forgottenAtMs <= nowMs });
  }

  /** From now on days are compared whether or not they are used. */
  start(): void {
    this.#timer = setInterval(() => this.#compareDue(), lookEveryMs).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** A counter was asked for or added to. */
  noteUse(key: string, day: LocalDay): void {
    const nowMs = this.#parts.clock.nowMs();
    const used = this.#dayInUse(key, day, nowMs);
    if (used === undefined) return;
    used.usedAtMs = nowMs;
    used.dueAtMs = Math.min(used.dueAtMs, nowMs + this.#pauseMs(used, nowMs));
    this.#compareIfDue(key, day, used);
  }

  /** A counter had no base and was given one. What was on its way to the ledger just then is found soon after. */
  noteBaseLoaded(key: string, day: LocalDay): void {
    this.#compareOften(key, day);
  }

  /** Compares now, whoever else does. Undefined when store or ledger do not answer. */
  async reconcile(key: string, day: LocalDay): Promise<ReconciledDay | undefined> {
    return this.#reconcile(key, day, { pauseMs: this.#parts.everyMs, force: true });
  }

  #compareDue(): void {
    this.#days.forgetIdle(this.#parts.clock.nowMs());
    for (const [key, day, used] of this.#days) this.#compareIfDue(key, day, used);
  }

  #compareIfDue(key: string, day: LocalDay, used: DayInUse): void {
    const nowMs = this.#parts.clock.nowMs();
    if (nowMs < used.dueAtMs || this.#running >= maxAtOnce) return;
    const pauseMs = this.#pauseMs(used, nowMs);
    used.dueAtMs = nowMs + pauseMs;
    this.#running += 1;
    // A ticket that was still valid at the next turn would make every second turn idle. To other limiters the day may be in use.
    void this.#reconcile(key, day, { pauseMs: Math.floor(0.9 * Math.min(pauseMs, this.#parts.everyMs)) })
      .then((reconciled) => {
        // More of what was missing may be on its way.
        if (reconciled !== undefined && isCorrected(reconciled)) this.noteUse(key, day);
      })
      .catch(() => undefined)
      .finally(() => {
        this.#running -= 1;
      });
  }

  async #reconcile(key: string, day: LocalDay, { pauseMs, force = false }: Pace): Promise<ReconciledDay | undefined> {
    const { store, dayTotals } = this.#parts;
    // What is pending is much to read, and for nothing while the ledger is not asked.
    if (dayTotals.isResting) return undefined;
    const begun = await store.beginReconciliation(key, day, { pauseMs, force });
    if (begun === undefined) return undefined;
    if (begun.pendingIds.length * 2 > maxPendingIds) this.#compareOften(key, day);
    // No request waits for it, and it may name thousands; but what comes after the ticket has run out changes nothing.
    const timeoutMs = Math.min(longestSnapshotMs, pauseMs);
    const snapshot = await dayTotals.snapshot({ key, day, requestIds: begun.pendingIds }, timeoutMs);
    if (snapshot === undefined) return undefined;
    const reconciled = await store.finishReconciliation(key, day, begun.ticket, { ...snapshot, force });
    if (reconciled !== undefined && isCorrected(reconciled)) this.#parts.events.dayCorrected(correctionOf(reconciled));
    return reconciled;
  }

  #compareOften(key: string, day: LocalDay): void {
    const nowMs = this.#parts.clock.nowMs();
    const used = this.#dayInUse(key, day, nowMs);
    if (used === undefined) return;
    used.dueAtMs = nowMs + unsettledPauseMs;
    used.unsettledUntilMs = nowMs + unsettledMs;
  }

  #pauseMs({ unsettledUntilMs, usedAtMs }: DayInUse, nowMs: number): number {
    const { everyMs } = this.#parts;
    if (nowMs < unsettledUntilMs) return Math.min(everyMs, unsettledPauseMs);
    return Math.max(everyMs, Math.min(longestPauseMs, (nowMs - usedAtMs) * idleShare));
  }

  /** Undefined when the ledger knows of no such key. */
  #dayInUse(key: string, day: LocalDay, nowMs: number): DayInUse | undefined {
    this.#days.forgetIdle(nowMs);
    const known = this.#days.get(key, day);
    if (known !== undefined || !this.#parts.dayTotals.covers(key)) return known;
    const dueAtMs = nowMs + this.#parts.everyMs;
    const used: DayInUse = { dueAtMs, unsettledUntilMs: 0, usedAtMs: nowMs, forgottenAtMs: dayForgottenAtMs(day) };
    this.#days.set(key, day, used);
    return used;
  }
}

interface Pace {
  /** For how long no other limiter begins. */
  readonly pauseMs: number;
  /** Whoever else has begun, and even if the ledger has less than it had. */
  readonly force?: boolean;
}

interface DayInUse {
  /** When the day is to be compared. */
  dueAtMs: number;
  /** Until then it is compared more often. */
  unsettledUntilMs: number;
  /** The longer ago, the more rarely it is compared. */
  usedAtMs: number;
  readonly forgottenAtMs: number;
}

function isCorrected(reconciled: ReconciledDay): boolean {
  return correctionOf(reconciled) !== 0;
}

function correctionOf({ usedTokensBefore, usedTokensAfter }: ReconciledDay): number {
  return usedTokensAfter - (usedTokensBefore ?? usedTokensAfter);
}

const maxDays = 100_000;
const maxAtOnce = 8;
const lookEveryMs = 1_000;
/** A day that was not used for some time is compared again after such a part of it. */
const idleShare = 0.25;
const longestPauseMs = 600_000;
const longestSnapshotMs = 5_000;
const unsettledMs = 30_000;
const unsettledPauseMs = 1_000;
