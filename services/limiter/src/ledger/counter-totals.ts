import {
  type Check,
  type CounterName,
  counterName,
  type Decision,
  dayForgottenAtMs,
  type LimitStore,
  maxPendingIds,
  type ReloadedCounter,
  withLedgerAway,
} from '@gateway/limits';
import type { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Logger } from '@gateway/telemetry';
import { cancelTimer, epochMs, monotonicMs, startInterval, startTimer, type Timer } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { type LimiterMetrics, reasonOf } from '../metrics.ts';

export type LedgerReader = Pick<Client<typeof UsageQueryService>, 'getDayTotal' | 'getGroupTotal'>;

export interface CounterTotalsParts {
  readonly store: LimitStore;
  /** The ledger. Without it every key starts at zero. */
  readonly usageQuery: LedgerReader | undefined;
  readonly metrics: LimiterMetrics;
  readonly logger: Logger;
  /** How often the total of a counter in use is reloaded. */
  readonly everyMs: number;
}

/**
 * Loads the ledger's totals into counters: when a counter has none, and repeatedly while requests
 * continue. So whatever a store lost (its memory, its last writes before a failover) or counted
 * twice is corrected as soon as the ledger has it.
 *
 * One limiter at a time reloads a counter: frequently while it is in use, then less and less often
 * until it is forgotten. An idle token needs this too, because its last requests may reach the
 * ledger much later, and their edge may have been killed before it could settle them.
 */
export class CounterTotals implements Disposable {
  readonly #parts: CounterTotalsParts;
  readonly #counters: LRUCache<string, CounterInUse>;
  /** For each counter that is being loaded: its total, or nothing if that takes too long. */
  readonly #loading = new Map<string, Promise<ReloadedCounter | undefined>>();
  /**
   * Set while the ledger fails: when to try it again. Requests continue without the ledger, because
   * one that hangs must not slow down every request.
   */
  #retryAtMs: number | undefined;
  #timer: Timer | undefined;
  #isReloading = false;

  constructor(parts: CounterTotalsParts) {
    this.#parts = parts;
    // Bounded by size instead of `max`, because `max` allocates all memory up front.
    const bound = { maxSize: 100_000, sizeCalculation: () => 1 };
    this.#counters = new LRUCache({ ...bound, ttlResolution: 0, perf: { now: epochMs } });
  }

  /** Starts reloading counters in use. */
  start(): void {
    this.#timer = startInterval(() => void this.#reloadDue(), 1_000).unref();
  }

  [Symbol.dispose](): void {
    cancelTimer(this.#timer);
  }

  /** Whether the ledger has such keys: those of tokens and groups, with valid ids. */
  covers(key: string): boolean {
    return this.#parts.usageQuery !== undefined && /^(?:token|group):[!-~]+$/.test(key);
  }

  /** The same check, which names the keys that the ledger has. */
  covered<T extends Pick<Check, 'key' | 'group'>>(terms: T): T & Pick<Check, 'group' | 'hasLedger'> {
    const hasLedger = this.covers(terms.key);
    if (terms.group === undefined) return { ...terms, hasLedger };
    return { ...terms, hasLedger, group: { ...terms.group, hasLedger: this.covers(terms.group.key) } };
  }

  /**
   * Asks a question that may need totals. Those that are missing are loaded first. If the ledger
   * does not answer, a counter continues from the total that the caller saw last. If there is none,
   * tokens are counted from zero, and a budget refuses.
   */
  async ask(check: Check, question: (check: Check) => Promise<Decision>): Promise<Decision> {
    const { store } = this.#parts;
    // It may have come back as an older copy.
    if (store.mayLackTotals && check.knownTotals !== undefined) await store.raise(check.knownTotals);
    let asked: Check = this.covered(check);
    // A second total is missing only if midnight passed while the first was loaded.
    for (let loads = 0; loads <= 3; loads++) {
      const decision = await question(asked);
      const { unloaded = [] } = decision;
      if (unloaded.length === 0) return decision;
      const found = await Promise.all(unloaded.map((counter) => this.#isFound(counter, check)));
      const lost = unloaded.filter((_, index) => !found[index]);
      if (lost.length > 0) asked = withLedgerAway(asked, new Set(lost.map(({ key }) => key)));
    }
    throw new Error('the local day changed during every attempt');
  }

  /**
   * Loads a total that a counter lacks, once for all callers. Undefined when it is not available
   * now: an answer that comes later is used by then.
   */
  load(counter: CounterName): Promise<ReloadedCounter | undefined> {
    const name = counterName(counter);
    const running = this.#loading.get(name);
    if (running !== undefined) return running;
    const answer = this.reload(counter, { timeoutMs: 10_000, tentativeMs: patienceMs / 2 });
    const loading = this.#inTime(answer);
    this.#loading.set(name, loading);
    answer.catch(() => undefined).finally(() => this.#loading.delete(name));
    // Usage that was on its way to the ledger at this moment is found soon after.
    this.#reloadOften(counter);
    return loading;
  }

  /** Undefined if the answer takes so long that requests should not wait for it. */
  async #inTime(answer: Promise<ReloadedCounter | undefined>): Promise<ReloadedCounter | undefined> {
    const late = Promise.withResolvers<undefined>();
    const timer = startTimer(() => {
      this.#noteFailure('the ledger does not answer in time');
      late.resolve(undefined);
    }, patienceMs).unref();
    return Promise.race([answer, late.promise]).finally(() => cancelTimer(timer));
  }

  /** Whether a counter that lacks the ledger's total has it now. Otherwise it has what is known. */
  async #isFound(counter: CounterName, { knownTotals = [] }: Check): Promise<boolean> {
    const { store, metrics } = this.#parts;
    if ((await this.load(counter)) !== undefined) return true;
    const name = counterName(counter);
    const ofCaller = knownTotals.filter((known) => counterName(known.counter) === name).map(({ total }) => total);
    const isRefused = ofCaller.length === 0 && counter.span.unit === 'micros';
    metrics.missingTotals.inc({ continued: ofCaller.length > 0 ? 'last_known' : isRefused ? 'refused' : 'from_zero' });
    if (!isRefused) await store.raise([{ counter, total: Math.max(0, ...ofCaller) }]);
    return false;
  }

  /** Called when a counter is read or increased. */
  noteUse(counter: CounterName): void {
    if (!this.covers(counter.key)) return;
    const nowMs = epochMs();
    const used = this.#counterInUse(counter);
    used.usedAtMs = nowMs;
    used.dueAtMs = Math.min(used.dueAtMs, nowMs + this.#pauseMs(used));
  }

  /**
   * Called when a request was settled long after its end. If the ledger had recorded it before, the
   * counter has it twice until the next comparison, so that follows soon.
   */
  noteLateSettle(counter: CounterName): void {
    if (!this.covers(counter.key)) return;
    this.noteUse(counter);
    this.#reloadOften(counter, soonMs);
  }

  /**
   * Loads the ledger's total into a counter now. Undefined when the store or the ledger does not
   * answer, or when another limiter has just done so.
   */
  async reload(
    counter: CounterName,
    options: Omit<ReloadOptions, 'isTentative'> = {},
  ): Promise<ReloadedCounter | undefined> {
    const { timeoutMs = 5_000, tentativeMs = timeoutMs / 2, force = false } = options;
    const againUntilMs = monotonicMs() + tentativeMs;
    const first = await this.#compare(counter, { ...options, isTentative: true });
    let last = first;
    // The total may or may not include requests that settled while the ledger was read. If the
    // counter had no total, or a wrong one, the ledger is read again.
    const isUnsure = () =>
      last !== undefined && last.unaskedTokens > 0 && (force || last.usedTokensAfter !== last.usedTokensBefore);
    for (let isTentative = true, tries = 2; isTentative && isUnsure(); tries++) {
      isTentative = tries < 4 && monotonicMs() < againUntilMs;
      last = await this.#compare(counter, { ...options, pauseMs: 0, isTentative });
    }
    if (first === undefined || last === undefined) return undefined;
    if (isUnsure()) this.#reloadOften(counter);
    const reloaded = { ...last, usedTokensBefore: first.usedTokensBefore };
    const { usedTokensBefore = reloaded.usedTokensAfter, usedTokensAfter } = reloaded;
    if (usedTokensAfter === usedTokensBefore) return reloaded;
    const { metrics, logger } = this.#parts;
    metrics.corrections.inc();
    const { unit } = counter.span;
    const difference = usedTokensAfter - usedTokensBefore;
    logger.info({ [unit]: difference }, 'a counter differed from the usage ledger and was corrected');
    // More of the missing usage may be on its way.
    this.noteUse(counter);
    return reloaded;
  }

  async #compare(counter: CounterName, options: ReloadOptions): Promise<ReloadedCounter | undefined> {
    const { pauseMs = 0, timeoutMs = 5_000, force = false, isTentative } = options;
    if (!this.#mayTry()) return undefined;
    const { store } = this.#parts;
    const pendingIds = await store.pendingIds(counter, pauseMs);
    if (pendingIds === undefined) return undefined;
    if (pendingIds.length * 2 > maxPendingIds) this.#reloadOften(counter);
    const total = await this.#read(counter, pendingIds, timeoutMs);
    return total && store.reload(counter, { ...total, force, isTentative });
  }

  /** Reloads a few counters at a time, behind requests. */
  async #reloadDue(): Promise<void> {
    if (this.#isReloading) return;
    this.#isReloading = true;
    this.#counters.purgeStale();
    const nowMs = epochMs();
    const due = [...this.#counters.values()].filter(({ dueAtMs }) => dueAtMs <= nowMs).values();
    const reloadNext = async () => {
      for (const used of due) {
        used.dueAtMs = nowMs + this.#pauseMs(used);
        // Other limiters pause until just before the next turn. They may have the counter in use.
        // What is known to be uncertain here does not wait for their pause.
        const isUrgent = nowMs < used.oftenUntilMs;
        const pauseMs = isUrgent ? 0 : Math.floor(0.9 * this.#parts.everyMs);
        await this.reload(used.counter, { pauseMs }).catch(() => undefined);
      }
    };
    await Promise.all(Array.from({ length: 8 }, reloadNext));
    this.#isReloading = false;
  }

  #reloadOften(counter: CounterName, forMs = 30_000): void {
    const nowMs = epochMs();
    const used = this.#counterInUse(counter);
    used.oftenUntilMs = Math.max(used.oftenUntilMs, nowMs + forMs);
    used.dueAtMs = nowMs + this.#pauseMs(used);
  }

  #pauseMs({ oftenUntilMs, usedAtMs }: CounterInUse): number {
    const { everyMs } = this.#parts;
    const nowMs = epochMs();
    if (nowMs < oftenUntilMs) return Math.min(everyMs, 1_000);
    // After a quarter of the time since its last use, at most ten minutes.
    return Math.max(everyMs, Math.min(600_000, (nowMs - usedAtMs) / 4));
  }

  #counterInUse(counter: CounterName): CounterInUse {
    const name = counterName(counter);
    const known = this.#counters.get(name);
    if (known !== undefined) return known;
    const nowMs = epochMs();
    const used = { counter, dueAtMs: nowMs + this.#parts.everyMs, oftenUntilMs: 0, usedAtMs: nowMs };
    this.#counters.set(name, used, { ttl: Math.max(1, dayForgottenAtMs(counter.span.lastDay) - nowMs) });
    return used;
  }

  /** While the ledger fails, one attempt per second is allowed. */
  #mayTry(): boolean {
    if (this.#retryAtMs === undefined) return true;
    const nowMs = epochMs();
    const leftMs = this.#retryAtMs - nowMs;
    // More is left than ever was: the clock was set back.
    if (leftMs > 0 && leftMs <= retryAfterMs) return false;
    this.#retryAtMs = nowMs + retryAfterMs;
    return true;
  }

  async #read(counter: CounterName, requestIds: readonly string[], timeoutMs: number) {
    try {
      const total = await this.#totalOf(counter, [...requestIds], timeoutMs);
      this.#retryAtMs = undefined;
      if (total === undefined) return undefined;
      const included = new Set(total.includedIds);
      return { ...total, missingIds: requestIds.filter((id) => !included.has(id)) };
    } catch (thrown) {
      this.#noteFailure(reasonOf(thrown));
      return undefined;
    }
  }

  #noteFailure(reason: string): void {
    const { metrics, logger } = this.#parts;
    this.#retryAtMs = epochMs() + retryAfterMs;
    metrics.loadFailures.inc();
    logger.warn({ reason }, 'a total could not be loaded; counting from the last one that is known');
  }

  async #totalOf({ key, span }: CounterName, requestIds: string[], timeoutMs: number) {
    const { usageQuery } = this.#parts;
    const id = key.slice(key.indexOf(':') + 1);
    const { firstDay, lastDay, unit } = span;
    if (key.startsWith('token:')) {
      const question = { tokenId: id, localDay: firstDay, requestIds };
      const total = await usageQuery?.getDayTotal(question, { timeoutMs });
      return total && { totalTokens: total.totalTokens, includedIds: total.includedRequestIds };
    }
    const total = await usageQuery?.getGroupTotal({ groupId: id, firstDay, lastDay, requestIds }, { timeoutMs });
    if (total === undefined) return undefined;
    const { totalTokens, costMicros, includedRequestIds: includedIds } = total;
    return { totalTokens: unit === 'tokens' ? totalTokens : costMicros, includedIds };
  }
}

/** Long enough for another comparison if the first one finds no ledger. */
const soonMs = 3_000;

const retryAfterMs = 1_000;

/** How long requests wait for the ledger. */
const patienceMs = 500;

interface ReloadOptions {
  /** The time for which other limiters need not reload the counter. */
  readonly pauseMs?: number;
  readonly timeoutMs?: number;
  /** For how long an uncertain total is read again. */
  readonly tentativeMs?: number;
  /** Load the total even if it is lower than an earlier one. */
  readonly force?: boolean;
  /** Another attempt will follow, so a counter without a total does not get an uncertain one. */
  readonly isTentative: boolean;
}

interface CounterInUse {
  readonly counter: CounterName;
  dueAtMs: number;
  /** Until then it is reloaded more often. */
  oftenUntilMs: number;
  /** The longer ago, the less often it is reloaded. */
  usedAtMs: number;
}
