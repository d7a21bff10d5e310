import { type Decision, dayForgottenAtMs, type LimitStore, maxPendingIds, type ReloadedDay } from '@gateway/limits';
import type { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Logger } from '@gateway/telemetry';
import { type Clock, cancelTimer, type LocalDay, monotonicMs, startInterval, type Timer } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { type LimiterMetrics, reasonOf } from '../metrics.ts';

export interface DayTotalsParts {
  readonly store: LimitStore;
  /** The ledger. Without it every key starts at zero. */
  readonly usageQuery: Pick<Client<typeof UsageQueryService>, 'getDayTotal'> | undefined;
  readonly clock: Clock;
  readonly metrics: LimiterMetrics;
  readonly logger: Logger;
  /** How often the total of a day in use is reloaded. */
  readonly everyMs: number;
}

/**
 * Loads the ledger's totals into day counters: when a counter has none, and repeatedly while
 * requests continue. So whatever a store lost (its memory, its last writes before a failover) or
 * counted twice is corrected as soon as the ledger has it.
 *
 * One limiter at a time reloads a day: frequently while it is in use, then less and less often
 * until it is forgotten. An idle token needs this too, because its last requests may reach the
 * ledger much later, and their edge may have been killed before it could settle them.
 */
export class DayTotals implements Disposable {
  readonly #parts: DayTotalsParts;
  readonly #days: LRUCache<string, DayInUse>;
  readonly #loading = new Map<string, Promise<ReloadedDay | undefined>>();
  /**
   * Set while the ledger fails: when to try it again. Requests continue without the ledger, because
   * one that hangs must not slow down every request.
   */
  #retryAtMs: number | undefined;
  #timer: Timer | undefined;
  #isReloading = false;

  constructor(parts: DayTotalsParts) {
    this.#parts = parts;
    // Bounded by size instead of `max`, because `max` allocates all memory up front.
    const bound = { maxSize: 100_000, sizeCalculation: () => 1 };
    this.#days = new LRUCache({ ...bound, ttlResolution: 0, perf: { now: () => parts.clock.nowMs() } });
  }

  /** Starts reloading days in use. */
  start(): void {
    this.#timer = startInterval(() => void this.#reloadDue(), 1_000).unref();
  }

  [Symbol.dispose](): void {
    cancelTimer(this.#timer);
  }

  /** Whether the ledger has such keys: those of tokens, with valid token ids. */
  covers(key: string): boolean {
    return this.#parts.usageQuery !== undefined && /^token:[!-~]+$/.test(key);
  }

  /**
   * Asks a question that may need the day's total. If the total is missing, it is loaded first; if
   * that fails, the day counts from zero.
   */
  async ask(key: string, question: (hasLedger: boolean) => Promise<Decision>): Promise<Decision> {
    let hasLedger = this.covers(key);
    // A second total is missing only if midnight passed while the first was loaded.
    for (let loads = 0; loads <= 2; loads++) {
      const decision = await question(hasLedger);
      if (!decision.needsDayTotal) return decision;
      hasLedger = (await this.load(key, decision.status?.localDay ?? '')) !== undefined;
    }
    throw new Error('the local day changed during every attempt');
  }

  /**
   * Loads a total that a counter lacks, once for all concurrent callers. Undefined when it is not
   * available now.
   */
  load(key: string, day: LocalDay): Promise<ReloadedDay | undefined> {
    const name = `${day}/${key}`;
    const running = this.#loading.get(name);
    if (running !== undefined) return running;
    const loading = this.reload(key, day, { timeoutMs: 500 }).finally(() => this.#loading.delete(name));
    this.#loading.set(name, loading);
    // Usage that was on its way to the ledger at this moment is found soon after.
    this.#reloadOften(key, day);
    return loading;
  }

  /** Called when a counter is read or increased. */
  noteUse(key: string, day: LocalDay): void {
    if (!this.covers(key)) return;
    const nowMs = this.#parts.clock.nowMs();
    const used = this.#dayInUse(key, day);
    used.usedAtMs = nowMs;
    used.dueAtMs = Math.min(used.dueAtMs, nowMs + this.#pauseMs(used));
  }

  /**
   * Called when a request was settled long after its end. If the ledger had recorded it before, the
   * counter has it twice until the next comparison, so that follows soon.
   */
  noteLateSettle(key: string, day: LocalDay): void {
    if (!this.covers(key)) return;
    this.noteUse(key, day);
    this.#reloadOften(key, day, soonMs);
  }

  /**
   * Loads the ledger's total into a counter now. Undefined when the store or the ledger does not
   * answer, or when another limiter has just done so.
   */
  async reload(
    key: string,
    day: LocalDay,
    options: Omit<ReloadOptions, 'isTentative'> = {},
  ): Promise<ReloadedDay | undefined> {
    const { timeoutMs = 5_000, force = false } = options;
    const againUntilMs = monotonicMs() + timeoutMs / 2;
    const first = await this.#compare(key, day, { ...options, isTentative: true });
    let last = first;
    // The total may or may not include requests that settled while the ledger was read. If the
    // counter had no total, or a wrong one, the ledger is read again.
    const isUnsure = () =>
      last !== undefined && last.unaskedTokens > 0 && (force || last.usedTokensAfter !== last.usedTokensBefore);
    for (let isTentative = true, tries = 2; isTentative && isUnsure(); tries++) {
      isTentative = tries < 4 && monotonicMs() < againUntilMs;
      last = await this.#compare(key, day, { ...options, pauseMs: 0, isTentative });
    }
    if (first === undefined || last === undefined) return undefined;
    if (isUnsure()) this.#reloadOften(key, day);
    const reloaded = { ...last, usedTokensBefore: first.usedTokensBefore };
    const { usedTokensBefore = reloaded.usedTokensAfter, usedTokensAfter } = reloaded;
    if (usedTokensAfter === usedTokensBefore) return reloaded;
    const { metrics, logger } = this.#parts;
    metrics.corrections.inc();
    const tokens = usedTokensAfter - usedTokensBefore;
    logger.info({ tokens }, 'a day counter differed from the usage ledger and was corrected');
    // More of the missing usage may be on its way.
    this.noteUse(key, day);
    return reloaded;
  }

  async #compare(key: string, day: LocalDay, options: ReloadOptions): Promise<ReloadedDay | undefined> {
    const { pauseMs = 0, timeoutMs = 5_000, force = false, isTentative = false } = options;
    if (!this.#mayTry()) return undefined;
    const { store } = this.#parts;
    const pendingIds = await store.pendingIds(key, day, pauseMs);
    if (pendingIds === undefined) return undefined;
    if (pendingIds.length * 2 > maxPendingIds) this.#reloadOften(key, day);
    const total = await this.#read(key, day, pendingIds, timeoutMs);
    return total && store.reloadDay(key, day, { ...total, force, isTentative });
  }

  /** Reloads a few days at a time, behind requests. */
  async #reloadDue(): Promise<void> {
    if (this.#isReloading) return;
    this.#isReloading = true;
    this.#days.purgeStale();
    const nowMs = this.#parts.clock.nowMs();
    const due = [...this.#days.values()].filter(({ dueAtMs }) => dueAtMs <= nowMs).values();
    const reloadNext = async () => {
      for (const used of due) {
        used.dueAtMs = nowMs + this.#pauseMs(used);
        // Other limiters pause until just before the next turn. They may have the day in use. What
        // is known to be uncertain here does not wait for their pause.
        const isUrgent = nowMs < used.oftenUntilMs;
        const pauseMs = isUrgent ? 0 : Math.floor(0.9 * Math.min(used.dueAtMs - nowMs, this.#parts.everyMs));
        await this.reload(used.key, used.day, { pauseMs }).catch(() => undefined);
      }
    };
    await Promise.all(Array.from({ length: 8 }, reloadNext));
    this.#isReloading = false;
  }

  #reloadOften(key: string, day: LocalDay, forMs = 30_000): void {
    const nowMs = this.#parts.clock.nowMs();
    const used = this.#dayInUse(key, day);
    used.oftenUntilMs = Math.max(used.oftenUntilMs, nowMs + forMs);
    used.dueAtMs = nowMs + this.#pauseMs(used);
  }

  #pauseMs({ oftenUntilMs, usedAtMs }: DayInUse): number {
    const { everyMs, clock } = this.#parts;
    const nowMs = clock.nowMs();
    if (nowMs < oftenUntilMs) return Math.min(everyMs, 1_000);
    // After a quarter of the time since its last use, at most ten minutes.
    return Math.max(everyMs, Math.min(600_000, (nowMs - usedAtMs) / 4));
  }

  #dayInUse(key: string, day: LocalDay): DayInUse {
    const name = `${day}/${key}`;
    const known = this.#days.get(name);
    if (known !== undefined) return known;
    const nowMs = this.#parts.clock.nowMs();
    const used = { key, day, dueAtMs: nowMs + this.#parts.everyMs, oftenUntilMs: 0, usedAtMs: nowMs };
    this.#days.set(name, used, { ttl: Math.max(1, dayForgottenAtMs(day) - nowMs) });
    return used;
  }

  /** While the ledger fails, one attempt per second is allowed. */
  #mayTry(): boolean {
    if (this.#retryAtMs === undefined) return true;
    const nowMs = this.#parts.clock.nowMs();
    const leftMs = this.#retryAtMs - nowMs;
    // More is left than ever was: the clock was set back.
    if (leftMs > 0 && leftMs <= retryAfterMs) return false;
    this.#retryAtMs = nowMs + retryAfterMs;
    return true;
  }

  async #read(key: string, localDay: LocalDay, requestIds: readonly string[], timeoutMs: number) {
    const { usageQuery, clock, metrics, logger } = this.#parts;
    try {
      const question = { tokenId: key.slice('token:'.length), localDay, requestIds: [...requestIds] };
      const total = await usageQuery?.getDayTotal(question, { timeoutMs });
      this.#retryAtMs = undefined;
      if (total === undefined) return undefined;
      const included = new Set(total.includedRequestIds);
      const missingIds = requestIds.filter((id) => !included.has(id));
      return { totalTokens: Number(total.totalTokens), includedIds: total.includedRequestIds, missingIds };
    } catch (thrown) {
      this.#retryAtMs = clock.nowMs() + retryAfterMs;
      metrics.loadFailures.inc();
      logger.warn({ reason: reasonOf(thrown) }, 'a day total could not be loaded; counting from zero');
      return undefined;
    }
  }
}

/** Long enough for another comparison if the first one finds no ledger. */
const soonMs = 3_000;

const retryAfterMs = 1_000;

interface ReloadOptions {
  /** The time for which other limiters need not reload the day. */
  readonly pauseMs?: number;
  readonly timeoutMs?: number;
  /** Load the total even if it is lower than an earlier one. */
  readonly force?: boolean;
  /** Another attempt will follow, so a counter without a total does not get an uncertain one. */
  readonly isTentative?: boolean;
}

interface DayInUse {
  readonly key: string;
  readonly day: LocalDay;
  dueAtMs: number;
  /** Until then it is reloaded more often. */
  oftenUntilMs: number;
  /** The longer ago, the less often it is reloaded. */
  usedAtMs: number;
}
