import { CostKind, type Refusal } from '@gateway/proto/limiter/v2/limit_pb.js';
import { epochMs, type LocalDay, localDayOf } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { Counters } from './counters.ts';
import {
  type Check,
  type Decision,
  decisionOf,
  emptyWindow,
  type KeyFacts,
  PLACE_MS,
  RESERVED_MS,
  refusalOf,
  reservationRefusal,
  undecided,
} from './decide.ts';
import { ExpiringAmountsByName } from './expiring-amounts.ts';
import {
  type Heartbeat,
  type LedgerTotal,
  type LimitStore,
  maxPendingIds,
  type OwnAdmission,
  type ReloadedCounter,
  type Reservation,
  type RunningRequest,
  type SettledTotals,
  type Settlement,
} from './limit-store.ts';
import {
  type CounterName,
  counterName,
  countersOf,
  endedName,
  isPlain,
  type KnownTotal,
  nameOf,
  type Subject,
  subjectsOf,
} from './limited-key.ts';
import { type Admission, MinuteWindow } from './minute-window.ts';
import { MinuteWindows } from './minute-windows.ts';
import { ReplicaGroups, type ReplicaPlace, type Shared, shareOf } from './replica-share.ts';
import { chargesOf, settledTotals } from './settled-charges.ts';
import { budgetSpan, daySpan } from './span.ts';

export interface MemoryLimitStoreOptions {
  /**
   * How many windows, and how many counters, are kept. Beyond it the least recently used are reset.
   * The same holds for running requests and reservations.
   */
  readonly maxKeys: number;
  /**
   * How many settled requests are remembered besides pending ones. A repeat after that many others
   * counts twice.
   */
  readonly maxSettledIds?: number;
  /** How many admissions windows may hold before admissions of others are no longer recorded. */
  readonly maxRecorded?: number;
  /** Called for each slot that a request takes here, before the request is answered. */
  readonly onAdmitted?: (admission: Admission) => void;
  /** Called for each slot that a request returns because it was refused a reservation. */
  readonly onReturned?: (admission: Admission) => void;
  /** For tests only. */
  readonly maxPendingIds?: number;
}

/**
 * Windows, counters, places and reservations of one process: exact, and bounded in memory. Every
 * method has taken effect when it returns its promise.
 */
export class MemoryLimitStore implements LimitStore {
  readonly #options: Required<MemoryLimitStoreOptions>;
  readonly #windows: MinuteWindows;
  readonly #counters: Counters;
  /** The running requests of keys that limit their number. */
  readonly #places: ExpiringAmountsByName;
  /** What running requests have reserved, by counter. */
  readonly #reserved: ExpiringAmountsByName;
  /** Requests that settled in the last two minutes. */
  readonly #settledIds: LRUCache<string, true>;
  /** Requests that ended in the last two minutes, and that take nothing any more. */
  readonly #endedIds: LRUCache<string, true>;
  readonly #replicas = new ReplicaGroups();
  #purgedAtMs = 0;

  constructor(options: MemoryLimitStoreOptions) {
    const listeners = { onAdmitted: () => undefined, onReturned: () => undefined };
    this.#options = { maxSettledIds: 100_000, maxRecorded: Infinity, maxPendingIds, ...listeners, ...options };
    const time = { ttlResolution: 0, perf: { now: epochMs } };
    // Bounded by size instead of `max`, because `max` allocates all memory up front.
    const bounds = { ...time, maxSize: options.maxKeys, sizeCalculation: () => 1 };
    // The cache keeps an entry exactly as old as its `ttl`; here, as in Redis, it has expired.
    const ids = { ...bounds, maxSize: this.#options.maxSettledIds, ttl: settledIdMs - 1 };
    this.#settledIds = new LRUCache(ids);
    this.#endedIds = new LRUCache(ids);
    this.#counters = new Counters(this.#options);
    this.#places = new ExpiringAmountsByName(options.maxKeys, PLACE_MS);
    this.#reserved = new ExpiringAmountsByName(options.maxKeys, RESERVED_MS);
    this.#windows = new MinuteWindows(this.#options);
  }

  /** The number of windows and counters in memory. */
  get size(): number {
    return this.#windows.size + this.#counters.size;
  }

  async admit(check: Check & Shared): Promise<Decision> {
    return this.decide(check);
  }

  /** Decides as `admit` promises. */
  protected decide(check: Check & Shared): Decision {
    this.#purge();
    const clockMs = epochMs();
    return isPlain(check) ? this.#decideForKey(check, clockMs) : this.#decideForAll(check, clockMs);
  }

  #decideForKey(check: Check, clockMs: number): Decision {
    const { key, requestId, limits = {} } = check;
    const localDay = localDayOf(clockMs);
    const day = limits.tokensPerDay === undefined ? undefined : this.#counters.get({ key, span: daySpan(localDay) });
    if (limits.tokensPerDay !== undefined && check.hasLedger && !check.isLedgerAway && !day?.isLoaded) {
      return undecided(localDay, countersOf(check, localDay));
    }
    const usedTokens = day?.used ?? 0;
    const limit = limits.requestsPerMinute;
    if (limit === undefined) return decisionOf(check, { nowMs: clockMs, localDay, usedTokens, requests: emptyWindow });

    const { window, nowMs } = this.#windows.open({ key }, clockMs);
    const facts = (): KeyFacts => ({ nowMs: clockMs, localDay, usedTokens, requests: window.facts(limit) });
    const before = facts();
    if (requestId === '' || window.has(requestId)) return decisionOf(check, before, true);
    if (refusalOf(check, before) !== undefined) return decisionOf(check, before);
    this.#windows.take({ key }, requestId, window, nowMs);
    return decisionOf(check, facts(), true);
  }

  /** Decides for a key and its group, with all kinds of limits. */
  #decideForAll(check: Check & Shared, clockMs: number): Decision {
    const { requestId, costKind } = check;
    const localDay = localDayOf(clockMs);
    const subjects = subjectsOf(check);
    const waiting = subjects.filter(({ hasLedger, isLedgerAway }) => hasLedger && !isLedgerAway);
    const unloaded = waiting.flatMap((subject) => this.#unloadedOf(subject, localDay));
    if (unloaded.length > 0) return undecided(localDay, unloaded);
    const states = subjects.map((subject) => this.#stateOf({ ...subject, place: check.place }, localDay, clockMs));
    const answer = (isAdmitted: boolean) => {
      const [facts, groupFacts] = states.map((state) => state.facts());
      if (facts === undefined) throw new Error('a check without a key');
      return decisionOf(check, facts, isAdmitted, groupFacts);
    };
    const isKnown = states.some(({ window, places }) => window.has(requestId) || places.has(requestId));
    if (requestId === '' || isKnown || this.#hasEnded(check, requestId)) return answer(true);
    const refused = answer(false);
    if (refused.refusal !== undefined) return refused;
    for (const { subject, window, nowMs } of states) {
      const { requestsPerMinute, concurrentRequests } = subject.limits ?? {};
      if (requestsPerMinute !== undefined) this.#windows.take(subject, requestId, window, nowMs);
      if (concurrentRequests === undefined || costKind === CostKind.REQUEST_ONLY) continue;
      this.#places.set(nameOf(subject), requestId, 1);
    }
    return answer(true);
  }

  #stateOf(subject: Subject & Shared, localDay: LocalDay, clockMs: number) {
    const { key, groupKey, limits = {}, place, isLedgerAway } = subject;
    const { requestsPerMinute, tokensPerDay, budget } = limits;
    const unlimited = { window: new MinuteWindow(), nowMs: clockMs };
    const { window, nowMs } = requestsPerMinute === undefined ? unlimited : this.#windows.open(subject, clockMs);
    const places = this.#places.open(nameOf(subject));
    const day = tokensPerDay === undefined ? undefined : this.#counters.get({ key, groupKey, span: daySpan(localDay) });
    const facts = (): KeyFacts => ({
      nowMs: clockMs,
      localDay,
      usedTokens: day?.used ?? 0,
      requests: window.facts(requestsPerMinute ?? 0),
      running: this.#places.open(nameOf(subject)).size,
      ...(budget && {
        budget: this.#budgetOf({ key, groupKey, span: budgetSpan(budget.period, localDay) }, budget.amountMicros, {
          place,
          isLedgerAway,
        }),
      }),
    });
    return { subject, window, nowMs, places, facts };
  }

  async reserve(reservation: Reservation & Shared): Promise<Refusal | undefined> {
    const { requestId, localDay, costMicros, place, ...terms } = reservation;
    const clockMs = epochMs();
    if (this.#hasEnded(terms, requestId)) return undefined;
    const subjects = subjectsOf(terms);
    for (const { key, groupKey, limits, ...ledger } of subjects) {
      if (limits?.budget === undefined) continue;
      const counter = { key, groupKey, span: budgetSpan(limits.budget.period, localDay) };
      const isLedgerAway = ledger.hasLedger || ledger.isLedgerAway;
      const before = this.#budgetOf(counter, limits.budget.amountMicros, { place, isLedgerAway });
      const { spentMicros, reservedMicros, isUnknown } = before;
      const byOthers = reservedMicros - this.#reserved.open(counterName(counter)).amountOf(requestId);
      const facts = { spentMicros, reservedMicros: byOthers, isUnknown };
      const refusal = reservationRefusal(limits, facts, costMicros, { localDay, nowMs: clockMs });
      if (refusal !== undefined) {
        this.giveBack({ ...terms, requestId });
        for (const each of subjects.flatMap((subject) => countersOf(subject, localDay)))
          this.#reserved.delete(counterName(each), requestId);
        return refusal;
      }
      this.#reserved.set(counterName(counter), requestId, costMicros);
    }
    return undefined;
  }

  async settle(settlement: Settlement): Promise<SettledTotals> {
    const { requestId, ended = false } = settlement;
    const charges = chargesOf(settlement);
    for (const { counter, amount, hasLedger } of charges) {
      const name = counterName(counter);
      // A settle without tokens does not create a counter.
      const known = amount === 0 ? undefined : this.#counters.open(counter);
      if (known !== undefined && !known.isPending(requestId) && this.#isNew(`${name}/${requestId}`)) {
        known.add(requestId, amount, hasLedger);
      }
    }
    if (ended) this.end(settlement);
    const totals = charges.map(({ counter, hasLedger, total }) => {
      const known = this.#counters.get(counter);
      return { total, counter, amount: known?.used ?? 0, isLoaded: known?.isLoaded === true || !hasLedger };
    });
    return settledTotals(totals);
  }

  async renew(running: readonly RunningRequest[]): Promise<void> {
    for (const { key, groupKey, requestId, inKey, inGroup, reserved } of running) {
      if (this.#endedIds.has(endedName({ key, groupKey }, requestId))) continue;
      const ofGroup = { key: groupKey ?? key };
      if (inKey) this.#places.set(nameOf({ key, groupKey }), requestId, 1);
      if (inGroup) this.#places.set(nameOf(ofGroup), requestId, 1);
      if (reserved === undefined) continue;
      this.#reserved.set(counterName({ ...ofGroup, span: reserved.span }), requestId, reserved.micros);
    }
  }

  async pendingIds(counter: CounterName): Promise<readonly string[]> {
    const reserved = this.#reserved.open(counterName(counter)).ids;
    const pending = this.#counters.get(counter)?.pendingIds ?? [];
    return [...pending, ...reserved].slice(0, maxPendingIds);
  }

  async reload(counter: CounterName, total: LedgerTotal): Promise<ReloadedCounter> {
    const name = counterName(counter);
    const reserved = this.#reserved.open(name);
    for (const requestId of total.includedIds.filter((id) => reserved.has(id))) {
      reserved.delete(requestId);
      // Its edge may settle it later than the ledger learned of it.
      this.#settledIds.set(`${name}/${requestId}`, true);
    }
    return this.#counters.open(counter).reload(total);
  }

  /** Sets a counter's total, whatever it was. */
  setTotal(counter: CounterName, total: number): void {
    this.#counters.open(counter).set(total);
  }

  async raise(known: readonly KnownTotal[]): Promise<void> {
    for (const { counter, total } of known) this.#counters.open(counter).raise(total);
  }

  /** The totals that were loaded, set or raised last, of these counters or of all. */
  knownTotals(counters?: readonly CounterName[]): readonly KnownTotal[] {
    return this.#counters.known(counters);
  }

  /** Adds requests that were admitted elsewhere, as long as there is room. */
  record(admissions: readonly OwnAdmission[]): void {
    this.#purge();
    this.#windows.record(admissions);
  }

  /** Returns the slots and places of a refused request, wherever it took them. */
  giveBack({ requestId, ...terms }: Pick<Check, 'requestId' | 'key' | 'group' | 'limits'>): void {
    for (const subject of subjectsOf(terms)) {
      this.#places.delete(nameOf(subject), requestId);
      if (subject.limits?.requestsPerMinute !== undefined) this.#windows.giveBack(subject, requestId);
    }
  }

  /** Undoes what a request took here. */
  release({ requestId, ...terms }: Pick<Check, 'requestId' | 'key' | 'group'>): void {
    for (const subject of subjectsOf(terms)) {
      this.#places.delete(nameOf(subject), requestId);
      this.#windows.release(subject, requestId);
    }
  }

  /** What was admitted in the last minute, here or elsewhere, and what was returned. */
  admissions(): readonly Admission[] {
    return this.#windows.admissions;
  }

  async heartbeat({ group, replicaId, admissions, lastAnsweredAtMs }: Heartbeat): Promise<ReplicaPlace> {
    this.record(admissions);
    return this.#replicas.note(group, replicaId, epochMs(), lastAnsweredAtMs);
  }

  /** Frees what a request holds, and remembers that it takes nothing any more. */
  end(settlement: Settlement): void {
    const { requestId, key, group } = settlement;
    this.#endedIds.set(endedName({ key, groupKey: group?.key }, requestId), true);
    for (const subject of subjectsOf(settlement)) this.#places.delete(nameOf(subject), requestId);
    for (const { counter } of chargesOf(settlement)) this.#reserved.delete(counterName(counter), requestId);
  }

  #hasEnded({ key, group }: Pick<Check, 'key' | 'group'>, requestId: string): boolean {
    return this.#endedIds.has(endedName({ key, groupKey: group?.key }, requestId));
  }

  #unloadedOf(subject: Subject, localDay: LocalDay): readonly CounterName[] {
    return countersOf(subject, localDay).filter((counter) => !this.#counters.get(counter)?.isLoaded);
  }

  /** What replicas that can't be asked may spend of a budget counts as reserved. */
  #budgetOf(counter: CounterName, amountMicros: number, asked: Shared & Pick<Subject, 'isLedgerAway'>) {
    const { place, isLedgerAway } = asked;
    const { used: spentMicros = 0, known } = this.#counters.get(counter) ?? {};
    const leftMicros = Math.max(0, amountMicros - (known ?? 0));
    const othersMicros = place === undefined ? 0 : leftMicros - shareOf(leftMicros, place);
    const reservedMicros = othersMicros + this.#reserved.open(counterName(counter)).sum;
    return { spentMicros, reservedMicros, isUnknown: isLedgerAway && known === undefined };
  }

  /** Whether a request was not settled in the last two minutes. Marks it as settled. */
  #isNew(name: string): boolean {
    if (this.#settledIds.has(name)) return false;
    this.#settledIds.set(name, true);
    return true;
  }

  /** Drops expired entries from time to time: those that are never read again would stay. */
  #purge(): void {
    const nowMs = epochMs();
    if (Math.abs(nowMs - this.#purgedAtMs) < 10_000) return;
    this.#purgedAtMs = nowMs;
    for (const entries of [this.#windows, this.#counters, this.#places, this.#reserved]) entries.purgeStale();
  }
}

const settledIdMs = 120_000;
