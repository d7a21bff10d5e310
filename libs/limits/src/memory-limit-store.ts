import type { Refusal } from '@gateway/proto/limiter/v2/limit_pb.js';
import { epochMs, type LocalDay, localDayOf } from '@gateway/time';
import { LRUCache } from 'lru-cache';
import { Counters } from './counters.ts';
import { type Decision, decisionOf, LEASE_MS, RESERVED_MS, refusalOf } from './decide.ts';
import { ExpiringAmountsByName } from './expiring-amounts.ts';
import {
  type Heartbeat,
  type LedgerTotal,
  type LimitStore,
  maxPendingIds,
  type OwnAdmission,
  type ReloadedCounter,
  type SettledTotals,
  type Settlement,
} from './limit-store.ts';
import {
  type Check,
  type CounterName,
  counterName,
  endedName,
  type KnownTotal,
  type LimitedKey,
  nameOf,
  type Reservation,
  subjectsOf,
} from './limited-key.ts';
import {
  counterOf,
  hasRoom,
  heldMetersOf,
  isHeld,
  type Meter,
  type MeterState,
  metersOf,
  reservedMetersOf,
  type Taken,
} from './meter.ts';
import type { Admission } from './minute-window.ts';
import { MinuteWindows } from './minute-windows.ts';
import { ReplicaGroups, type ReplicaPlace, type Shared, shareOf } from './replica-share.ts';
import { chargesOf, settledTotals } from './settled-charges.ts';

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
  readonly #leases: ExpiringAmountsByName;
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
    // Bounded by size instead of `max`, because `max` allocates all memory up front.
    const bounds = { maxSize: this.#options.maxSettledIds, sizeCalculation: () => 1 };
    // The cache keeps an entry exactly as old as its `ttl`; here, as in Redis, it has expired.
    const ids = { ...bounds, ttl: settledIdMs - 1, ttlResolution: 0, perf: { now: epochMs } };
    this.#settledIds = new LRUCache(ids);
    this.#endedIds = new LRUCache(ids);
    this.#counters = new Counters(this.#options);
    this.#leases = new ExpiringAmountsByName(options.maxKeys, LEASE_MS);
    this.#reserved = new ExpiringAmountsByName(options.maxKeys, RESERVED_MS);
    this.#windows = new MinuteWindows(this.#options);
  }

  /** The number of windows and counters in memory. */
  get size(): number {
    return this.#windows.size + this.#counters.size;
  }

  async admit(check: Check & Shared): Promise<Decision> {
    this.#purge();
    const meters = metersOf(check);
    return decisionOf(check, meters, this.#take(check, meters, epochMs()));
  }

  async reserve(reservation: Reservation & Shared): Promise<Refusal | undefined> {
    const meters = reservedMetersOf(reservation);
    const taken = this.#take(reservation, meters, epochMs(), reservation.localDay);
    if (!taken.isTaken) this.giveBack(reservation);
    return taken.isTaken ? undefined : refusalOf(meters, taken);
  }

  /** Takes all meters, or none if one of them lacks room. */
  #take(request: TakingRequest, meters: readonly Meter[], nowMs: number, localDay = localDayOf(nowMs)): Taken {
    const unloaded = this.#unloadedOf(meters, localDay);
    if (unloaded.length > 0) return { nowMs, localDay, isTaken: false, states: [], unloaded };
    const instant = { nowMs, localDay, place: request.place };
    const opened = meters.map((meter) => this.#open(meter, request.requestId, instant));
    let [isKnown, isFree] = [meters.some(isHeld) && this.#hasEnded(request, request.requestId), true];
    for (const { meter, isTaken, state } of opened) {
      isKnown ||= isTaken;
      isFree &&= hasRoom(meter, state());
    }
    for (const { meter, take } of opened) if (isFree && !isKnown && meter.cost > 0) take();
    return { nowMs, localDay, isTaken: isKnown || isFree, states: opened.map(({ state }) => state()), unloaded };
  }

  #unloadedOf(meters: readonly Meter[], localDay: LocalDay): readonly CounterName[] {
    const unloaded: CounterName[] = [];
    for (const meter of meters) {
      if (meter.kind !== 'total' || meter.ledger !== 'needed') continue;
      const counter = counterOf(meter, localDay);
      if (!this.#counters.get(counter)?.isLoaded) unloaded.push(counter);
    }
    return unloaded;
  }

  #open(meter: Meter, requestId: string, instant: Instant): OpenMeter {
    if (meter.kind === 'window') return this.#openWindow(meter, requestId, instant);
    return meter.kind === 'lease' ? this.#openLease(meter, requestId) : this.#openTotal(meter, requestId, instant);
  }

  #openWindow(meter: Meter, requestId: string, { nowMs: clockMs }: Instant): OpenMeter {
    const { window, nowMs } = this.#windows.open(meter, clockMs);
    return {
      meter,
      isTaken: window.has(requestId),
      state: () => window.state(meter.limit),
      take: () => this.#windows.take(meter, requestId, window, nowMs),
    };
  }

  #openLease(meter: Meter, requestId: string): OpenMeter {
    const name = nameOf(meter);
    return {
      meter,
      isTaken: this.#leases.open(name).has(requestId),
      state: () => ({ used: this.#leases.open(name).size, reserved: 0 }),
      take: () => this.#leases.set(name, requestId, meter.cost),
    };
  }

  /** What replicas that can't be asked may spend of a budget counts as reserved. */
  #openTotal(meter: Meter, requestId: string, { localDay, place }: Instant): OpenMeter {
    const counter = counterOf(meter, localDay);
    const { used = 0, known } = this.#counters.get(counter) ?? {};
    if (!meter.isReserved) return { meter, isTaken: false, state: () => ({ used, reserved: 0 }), take() {} };
    const name = counterName(counter);
    const left = Math.max(0, meter.limit - (known ?? 0));
    const ofOthers = place === undefined ? 0 : left - shareOf(left, place);
    const isUnknown = meter.period !== undefined && meter.ledger === 'away' && known === undefined;
    return {
      meter,
      isTaken: meter.cost > 0 && this.#reserved.open(name).has(requestId),
      state: () => ({ used, reserved: ofOthers + this.#reserved.open(name).sum, isUnknown }),
      take: () => this.#reserved.set(name, requestId, meter.cost),
    };
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

  async renew(running: readonly Reservation[]): Promise<void> {
    for (const each of running) {
      const { requestId, localDay } = each;
      if (this.#hasEnded(each, requestId)) continue;
      const instant = { nowMs: epochMs(), localDay };
      for (const meter of heldMetersOf(each)) this.#open(meter, requestId, instant).take();
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

  /** How many slots requests hold that took them until then. */
  slotsUntil(key: LimitedKey, untilMs: number): number {
    return this.#windows.open(key, epochMs()).window.sizeUntil(untilMs);
  }

  /** Returns the slots and leases of a refused request, wherever it took them. */
  giveBack({ requestId, ...terms }: Pick<Check, 'requestId' | 'key' | 'group' | 'limits'>): void {
    for (const subject of subjectsOf(terms)) {
      this.#leases.delete(nameOf(subject), requestId);
      if (subject.limits?.requestsPerMinute !== undefined) this.#windows.giveBack(subject, requestId);
    }
  }

  /** Undoes what a request took here. */
  release({ requestId, ...terms }: Pick<Check, 'requestId' | 'key' | 'group'>): void {
    for (const subject of subjectsOf(terms)) {
      this.#leases.delete(nameOf(subject), requestId);
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
    for (const subject of subjectsOf(settlement)) this.#leases.delete(nameOf(subject), requestId);
    for (const { counter } of chargesOf(settlement)) this.#reserved.delete(counterName(counter), requestId);
  }

  #hasEnded({ key, group }: Pick<Check, 'key' | 'group'>, requestId: string): boolean {
    return this.#endedIds.has(endedName({ key, groupKey: group?.key }, requestId));
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
    for (const entries of [this.#windows, this.#counters, this.#leases, this.#reserved]) entries.purgeStale();
  }
}

/** A request that takes meters: with a place, at most this replica's share of a budget. */
type TakingRequest = Pick<Check, 'requestId' | 'key' | 'group'> & Shared;

interface Instant extends Shared {
  readonly nowMs: number;
  readonly localDay: LocalDay;
}

/** A meter in the store at one instant. */
interface OpenMeter {
  readonly meter: Meter;
  /** Whether the request has it already. */
  readonly isTaken: boolean;
  readonly state: () => MeterState;
  readonly take: () => void;
}

const settledIdMs = 120_000;
