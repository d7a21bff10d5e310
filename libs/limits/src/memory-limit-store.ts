import { type Clock, type LocalDay, localDayOf } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import {
  type Check,
  type Decision,
  dayForgottenAtMs,
  decisionOf,
  emptyWindow,
  type KeyFacts,
  refusalOf,
  undecided,
  WINDOW_MS,
} from './decide.ts';
import {
  comparedTokens,
  type DayTotal,
  type Heartbeat,
  type LedgerTotal,
  type LimitStore,
  maxPendingIds,
  type OwnAdmission,
  type ReloadedDay,
  type Settlement,
} from './limit-store.ts';
import { type Admission, MinuteWindow } from './minute-window.ts';
import { type ReplicaPlace, replicaSilenceMs } from './replica-share.ts';

export interface MemoryLimitStoreOptions {
  readonly clock: Clock;
  /**
   * How many windows and how many day counters are kept. Beyond it the least recently used are
   * reset.
   */
  readonly maxKeys: number;
  /**
   * How many settled requests are remembered besides pending ones. A repeat after that many others
   * counts twice.
   */
  readonly maxSettledIds?: number;
  /** How many admissions windows may hold before admissions of others are no longer recorded. */
  readonly maxRecorded?: number;
  /** Called for each request that takes a slot here, before the request is answered. */
  readonly onAdmitted?: (admission: Admission) => void;
  /** For tests only. */
  readonly maxPendingIds?: number;
}

/**
 * Windows and counters of one process: exact, and bounded in memory. Every method has taken effect
 * when it returns its promise.
 */
export class MemoryLimitStore implements LimitStore {
  readonly #options: Required<MemoryLimitStoreOptions>;
  readonly #windows: LRUCache<string, MinuteWindow>;
  readonly #days: LRUCache<string, DayCounter>;
  /** Requests that settled in the last two minutes. */
  readonly #settledIds: LRUCache<string, true>;
  /** Group → replica → when the replica was last heard from. */
  readonly #groups = new LRUCache<string, Map<string, number>>({ max: 1_000 });
  /** The number of entries in all windows. */
  #admissions = 0;
  #purgedAtMs = 0;

  constructor(options: MemoryLimitStoreOptions) {
    const defaults = { maxSettledIds: 100_000, maxRecorded: Infinity, onAdmitted: () => undefined };
    this.#options = { ...defaults, maxPendingIds, ...options };
    const time = { ttlResolution: 0, perf: { now: () => options.clock.nowMs() } };
    // Bounded by size instead of `max`, because `max` allocates all memory up front.
    const bounds = { ...time, maxSize: options.maxKeys, sizeCalculation: () => 1 };
    // The cache keeps an entry that is exactly as old as its `ttl`; here, as in Redis, that entry
    // has expired.
    this.#settledIds = new LRUCache({ ...bounds, maxSize: this.#options.maxSettledIds, ttl: settledIdMs - 1 });
    this.#days = new LRUCache(bounds);
    const dispose = ({ size }: MinuteWindow) => {
      this.#admissions -= size;
    };
    this.#windows = new LRUCache({ ...bounds, dispose });
  }

  /** The number of windows and day counters in memory. */
  get size(): number {
    return this.#windows.size + this.#days.size;
  }

  async admit(check: Check): Promise<Decision> {
    return this.decide(check);
  }

  /** Decides as `admit` promises. */
  protected decide(check: Check): Decision {
    this.#purge();
    const { key, requestId, limits = {} } = check;
    const clockMs = this.#options.clock.nowMs();
    const localDay = localDayOf(clockMs);
    const day = limits.tokensPerDay === undefined ? undefined : this.#days.get(nameOf(key, localDay));
    if (limits.tokensPerDay !== undefined && check.hasLedger && day?.base === undefined) return undecided(localDay);
    const usedTokens = (day?.base ?? 0) + (day?.settled ?? 0);
    const limit = limits.requestsPerMinute;
    if (limit === undefined) return decisionOf(check, { nowMs: clockMs, localDay, usedTokens, requests: emptyWindow });

    const window = this.#windows.get(key) ?? new MinuteWindow();
    const nowMs = this.#change(window, () => window.advance(clockMs));
    const facts = (): KeyFacts => ({ nowMs, localDay, usedTokens, requests: window.facts(limit) });
    const before = facts();
    if (requestId === '' || window.has(requestId)) return decisionOf(check, before, true);
    if (refusalOf(check, before) !== undefined) return decisionOf(check, before);
    this.#change(window, () => window.take(requestId, nowMs));
    this.#keep(key, window);
    this.#options.onAdmitted({ key, requestId, enteredMs: nowMs });
    return decisionOf(check, facts(), true);
  }

  async settle({ key, requestId, localDay, tokens, hasLedger = false }: Settlement): Promise<DayTotal> {
    const name = nameOf(key, localDay);
    // A settle without tokens does not create a counter.
    const day = tokens === 0 ? this.#days.get(name) : this.#openDay(key, localDay);
    if (day !== undefined && tokens !== 0 && !day.pending.has(requestId) && this.#isNew(`${name}/${requestId}`)) {
      day.settled = plus(day.settled, tokens);
      if (hasLedger && day.pending.size < this.#options.maxPendingIds) day.pending.set(requestId, tokens);
    }
    const usedTokens = (day?.base ?? 0) + (day?.settled ?? 0);
    return { usedTokens, isLoaded: day?.base !== undefined || !hasLedger };
  }

  async pendingIds(key: string, localDay: LocalDay): Promise<readonly string[]> {
    return [...(this.#days.get(nameOf(key, localDay))?.pending.keys() ?? [])];
  }

  async reloadDay(key: string, localDay: LocalDay, total: LedgerTotal): Promise<ReloadedDay> {
    const { totalTokens, includedIds, missingIds, force = false, isTentative = false } = total;
    const day = this.#openDay(key, localDay);
    const usedTokens = (day.base ?? 0) + day.settled;
    const usedTokensBefore = day.base === undefined ? undefined : usedTokens;
    if (!force && totalTokens < (day.total ?? 0)) {
      return { usedTokensBefore, usedTokensAfter: usedTokens, pendingTokens: day.settled, unaskedTokens: 0 };
    }
    for (const requestId of includedIds) day.pending.delete(requestId);
    const asked = new Set(missingIds);
    const unasked = day.pending.entries().filter(([id]) => !asked.has(id));
    const unaskedTokens = unasked.map(([, tokens]) => tokens).reduce(plus, 0);
    if (day.base === undefined && isTentative && unaskedTokens > 0) {
      return { usedTokensBefore, usedTokensAfter: usedTokens, pendingTokens: day.settled, unaskedTokens };
    }
    day.total = totalTokens;
    if (day.base === undefined || force || day.pending.size * 2 <= this.#options.maxPendingIds) {
      day.settled = day.pending.values().reduce(plus, 0);
      day.base = comparedTokens(usedTokensBefore, totalTokens, day.settled, unaskedTokens) - day.settled;
    }
    return { usedTokensBefore, usedTokensAfter: day.base + day.settled, pendingTokens: day.settled, unaskedTokens };
  }

  /** Sets the day's total, whatever it was. */
  setDayTotal(key: string, localDay: LocalDay, tokens: number): void {
    const day = this.#openDay(key, localDay);
    day.base = tokens;
    day.total = tokens;
    day.settled = 0;
    day.pending.clear();
  }

  /** Adds requests that were admitted elsewhere, as long as there is room. */
  record(admissions: readonly OwnAdmission[]): void {
    this.#purge();
    const some = admissions.slice(0, Math.max(0, this.#options.maxRecorded - this.#admissions));
    for (const [key, ofKey] of Map.groupBy(some, (each) => each.key)) {
      const window = this.#windows.get(key) ?? new MinuteWindow();
      this.#change(window, () => window.record(ofKey, this.#options.clock.nowMs()));
      this.#keep(key, window);
    }
  }

  /** Returns a slot that a request took here. */
  release({ key, requestId }: Pick<Admission, 'key' | 'requestId'>): void {
    const window = this.#windows.get(key);
    if (window !== undefined) this.#change(window, () => window.release(requestId));
  }

  /** What was admitted in the last minute, here or elsewhere. */
  admissions(): readonly Admission[] {
    return [...this.#windows].flatMap(([key, window]) =>
      window.entries.map(({ requestId, enteredMs }) => ({ key, requestId, enteredMs })),
    );
  }

  async heartbeat({ group, replicaId, admissions, lastAnsweredAtMs }: Heartbeat): Promise<ReplicaPlace> {
    this.record(admissions);
    const nowMs = this.#options.clock.nowMs();
    const heard = this.#groups.get(group) ?? new Map<string, number>();
    this.#groups.set(group, heard.set(replicaId, heardOfAtMs(nowMs, lastAnsweredAtMs)));
    // Includes replicas that were heard from before the clock was set back.
    for (const [id, atMs] of heard) if (Math.abs(nowMs - atMs) >= replicaSilenceMs) heard.delete(id);
    const position = [...heard.keys()].filter((id) => id < replicaId).length;
    const longestSilenceMs = Math.max(0, nowMs - Math.min(...heard.values()));
    return { replicas: heard.size, position, longestSilenceMs, answeredAtMs: nowMs };
  }

  #change<T>(window: MinuteWindow, change: () => T): T {
    const before = window.size;
    const result = change();
    this.#admissions += window.size - before;
    return result;
  }

  /** Keeps a window until its newest entry, which may be ahead of the clock, is a minute old. */
  #keep(key: string, window: MinuteWindow): void {
    const clockMs = this.#options.clock.nowMs();
    const nowMs = this.#change(window, () => window.advance(clockMs));
    this.#windows.set(key, window, { ttl: nowMs - clockMs + WINDOW_MS });
  }

  #openDay(key: string, localDay: LocalDay): DayCounter {
    const known = this.#days.get(nameOf(key, localDay));
    if (known !== undefined) return known;
    const day: DayCounter = { base: undefined, total: undefined, settled: 0, pending: new Map() };
    const ttl = Math.max(1, dayForgottenAtMs(localDay) - this.#options.clock.nowMs());
    this.#days.set(nameOf(key, localDay), day, { ttl });
    return day;
  }

  /** Whether a request was not settled in the last two minutes. Marks it as settled. */
  #isNew(name: string): boolean {
    if (this.#settledIds.has(name)) return false;
    this.#settledIds.set(name, true);
    return true;
  }

  /**
   * Drops expired entries from time to time. Entries that are never read again would otherwise
   * stay.
   */
  #purge(): void {
    const nowMs = this.#options.clock.nowMs();
    if (Math.abs(nowMs - this.#purgedAtMs) < 10_000) return;
    this.#purgedAtMs = nowMs;
    this.#windows.purgeStale();
    this.#days.purgeStale();
  }
}

interface DayCounter {
  /** The counted tokens that the ledger has; undefined until its total is loaded. */
  base: number | undefined;
  /** The latest total of the ledger. It may include requests that are counted as settled. */
  total: number | undefined;
  /** Tokens beyond the base. */
  settled: number;
  /** The settled requests that the ledger will record: tokens by request. */
  readonly pending: Map<string, number>;
}

const settledIdMs = 120_000;

/**
 * When a replica was last in touch. A replica that reports now counts even if its last contact was
 * long ago.
 */
function heardOfAtMs(nowMs: number, lastAnsweredAtMs = nowMs): number {
  return Math.max(nowMs - replicaSilenceMs + 1, Math.min(nowMs, lastAnsweredAtMs));
}

/** A day contains no slash, so names are unique. */
function nameOf(key: string, day: LocalDay): string {
  return `${day}/${key}`;
}

/** Saturates at the largest safe integer. */
function plus(counted: number, tokens: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, counted + tokens);
}
