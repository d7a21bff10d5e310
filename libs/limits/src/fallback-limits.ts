import { CostKind, type Refusal } from '@gateway/proto/limiter/v2/limit_pb.js';
import { RpcError } from '@gateway/rpc';
import { outsideTraces } from '@gateway/telemetry';
import { cancelTimer, epochMs, localDayOf, startInterval, startTimer, type Timer } from '@gateway/time';
import type { Decision } from './decide.ts';
import { type FallbackOptions, isAway, mayNotDecide } from './fallback-options.ts';
import { Heartbeats } from './heartbeats.ts';
import { KeptSettles } from './kept-settles.ts';
import type { RemoteLimits, SettledTotals, Settlement } from './limit-store.ts';
import {
  type Check,
  countersOf,
  nameOf,
  type Reservation,
  type Subject,
  subjectsOf,
  withLedgerAway,
} from './limited-key.ts';
import { MemoryLimitStore } from './memory-limit-store.ts';
import { PartialReturn } from './partial-return.ts';
import { slotsIn, totalsAfter, totalsIn } from './remote-answers.ts';
import { asWhole, checkByShare, type ReplicaPlace, replicaHeartbeatMs } from './replica-share.ts';
import { WindowCaps } from './window-caps.ts';

/**
 * Limits that a remote store decides, and that survive its outages. While the remote is away, each
 * replica enforces its part of requests per minute and at a time from exact windows and leases of
 * its own, and continues from the totals that it saw last. It has its share of what was left of a
 * budget, and nothing of one that it never saw. Settles are kept, and replayed with the same
 * request ids when the remote answers.
 *
 * The share is the limit divided by the number of replicas that the remote last reported. A replica
 * that has not reached the remote since it started knows neither that number nor what it admitted
 * before, so it decides nothing.
 *
 * The local windows hold everything that this replica admitted in the last minute, whether the
 * replica or the remote decided it. Before the remote is asked again, it receives all of that,
 * because it may have returned empty. Then, until all other replicas have returned too, this
 * replica still keeps to its part: a request needs the consent of both. So a remote that flaps, or
 * that returns empty, does not open a fresh window.
 */
export class FallbackLimits implements Omit<RemoteLimits, 'heartbeat' | 'settle'>, AsyncDisposable {
  readonly #remote: RemoteLimits;
  readonly #local: MemoryLimitStore;
  readonly #options: FallbackOptions;
  readonly #heartbeats: Heartbeats;
  /** How many requests of each window this replica may have admitted in an outage. */
  readonly #caps = new WindowCaps(maxKeys);
  #outage: { readonly sinceMs: number; readonly over: PromiseWithResolvers<void> } | undefined;
  /** Resolves when the hand-over ends; nothing is decided until then. Never rejects. */
  #handingOver: Promise<unknown> | undefined;
  /** Set while the remote is back here, but may lack what other replicas have not handed over. */
  #partialReturn: PartialReturn | undefined;
  readonly #keptSettles: KeptSettles;
  #heartbeatTimer: Timer | undefined;
  #recovery: Timer | undefined;
  #isBeating = false;
  #isClosed = false;

  constructor(options: FallbackOptions) {
    this.#options = options;
    this.#remote = options.remote;
    this.#heartbeats = new Heartbeats(options.remote);
    this.#keptSettles = new KeptSettles(maxKept);
    this.#local = new MemoryLimitStore({ maxKeys, maxRecorded: maxKept });
  }

  /** A remote that is not reachable yet is an outage: it is probed until it answers. */
  async start(): Promise<void> {
    await this.#sayAlive();
    if (this.#isClosed) return;
    this.#heartbeatTimer = startInterval(() => void this.#sayAlive(), replicaHeartbeatMs).unref();
  }

  /** Whether this replica currently decides alone. */
  get isAway(): boolean {
    return this.#outage !== undefined;
  }

  /** Resolves when the current outage ends. */
  get whenBack(): Promise<void> | undefined {
    return this.#outage?.over.promise;
  }

  /**
   * @throws RpcError `unavailable` until the remote is first reached: other replicas can decide.
   * @throws GatewayError `providers_unavailable` while this replica may not decide alone.
   */
  admit(check: Check): Promise<Decision> {
    const alone = () => this.#admitAlone(check);
    return this.#ask(alone, () => (this.#isReturning() ? this.#admitByBoth(check) : this.#admitRemotely(check)));
  }

  /** @throws like `admit`. */
  reserve(reservation: Reservation): Promise<Refusal | undefined> {
    const alone = async () => this.#local.reserve({ ...withLedgerAway(reservation), place: this.#requireMayDecide() });
    return this.#ask(alone, async () => {
      const refusal = await this.#remote.reserve(reservation);
      if (refusal !== undefined) this.#local.giveBack(reservation);
      else await this.#local.renew([reservation]);
      return refusal;
    });
  }

  renew(running: readonly Reservation[]): Promise<void> {
    const alone = () => this.#local.renew(running);
    return this.#ask(alone, async () => {
      await this.#remote.renew(running);
      await this.#local.renew(running);
    });
  }

  settle(settlement: Settlement): Promise<unknown> {
    const alone = () => this.#settleAlone(settlement);
    return this.#ask(alone, () => this.#settleRemotely(settlement));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    cancelTimer(this.#heartbeatTimer);
    cancelTimer(this.#recovery);
    await this.#replaySettles();
  }

  /**
   * Asks the remote or, while it is away or turns out to be, the local store. No `await` stands
   * between that check and the local decision, so that every local admission is handed over.
   */
  async #ask<T>(alone: () => Promise<T>, remotely: () => Promise<T>): Promise<T> {
    for (;;) {
      if (this.#handingOver !== undefined) await this.#handingOver;
      if (this.isAway) return alone();
      try {
        return await remotely();
      } catch (thrown) {
        this.#beginOutage(thrown);
      }
    }
  }

  async #admitRemotely(check: Check): Promise<Decision> {
    const localDay = localDayOf(epochMs());
    const counters = subjectsOf(check).flatMap((subject) => countersOf(subject, localDay));
    const decision = await this.#remote.admit({ ...check, knownTotals: this.#local.knownTotals(counters) });
    if (decision.status === undefined) return decision;
    const isAsked = check.requestId !== '';
    if (isAsked) this.#note(totalsIn(check, decision));
    if (isAsked && decision.refusal === undefined && decision.unloaded === undefined) {
      const slots = slotsIn(check, decision);
      if (slots.length > 0) this.#local.record(slots);
      if (check.costKind !== CostKind.REQUEST_ONLY)
        await this.#local.renew([{ ...check, localDay: decision.status.localDay, costMicros: 0 }]);
    }
    this.#noteWindows(check, decision);
    return decision;
  }

  async #admitAlone(check: Check): Promise<Decision> {
    const place = this.#requireMayDecide();
    this.#options.events.decidedAlone(check);
    return this.#admitByShare(check.hasLedger === undefined ? withLedgerAway(check) : check, place);
  }

  /** A request beyond this replica's share is refused, and so is one that the remote refuses. */
  async #admitByBoth(check: Check): Promise<Decision> {
    const { requestId, limits, group } = check;
    const place = this.#heartbeats.place;
    const isShared = [limits, group?.limits].some((each) => each?.requestsPerMinute !== undefined || each?.budget);
    if (place === undefined || requestId === '' || !isShared) return this.#admitRemotely(check);
    // Its slot of the share comes first, so that a burst asks the remote for no more than that.
    const byShare = await this.#admitByShare(check, place);
    if (byShare.refusal !== undefined) {
      this.#options.events.decidedAlone(check);
      return byShare;
    }
    let isAdmitted = false;
    try {
      const decision = await this.#admitRemotely(check);
      isAdmitted = decision.refusal === undefined;
      return decision;
    } finally {
      if (!isAdmitted) this.#local.release(check);
    }
  }

  /** Decides by this replica's part of the limit. The answer shows callers the whole limit. */
  async #admitByShare(check: Check, place: ReplicaPlace): Promise<Decision> {
    const capOf = (subject: Subject, limit: number) => {
      const ownUntil = (untilMs: number) => this.#local.slotsUntil(subject, untilMs);
      return this.#caps.capOf(nameOf(subject), limit, { place, ownUntil });
    };
    return asWhole(check, await this.#local.admit(checkByShare(check, place, capOf)));
  }

  #isReturning(): boolean {
    if (this.#partialReturn?.isOver(epochMs())) this.#partialReturn = undefined;
    return this.#partialReturn !== undefined;
  }

  #mayDecideAlone(): boolean {
    const { failureMode, localMaxMs } = this.#options;
    return failureMode === 'local' && epochMs() - (this.#outage?.sinceMs ?? 0) <= localMaxMs;
  }

  #requireMayDecide(): ReplicaPlace {
    const place = this.#requirePlace();
    if (this.#mayDecideAlone()) return place;
    throw mayNotDecide();
  }

  #requirePlace(): ReplicaPlace {
    const place = this.#heartbeats.place;
    if (place === undefined) throw new RpcError('unavailable', 'The shared store has not been reached yet.');
    return place;
  }

  async #settleRemotely(settlement: Settlement): Promise<SettledTotals> {
    const totals = await this.#remote.settle(settlement);
    this.#note(totalsAfter(settlement, totals));
    if (settlement.ended === true) this.#local.end(settlement);
    return totals;
  }

  /** Settles again later, under the same id, because it is not known whether the remote did. */
  protected keepSettle(settlement: Settlement): void {
    this.#keptSettles.keep(settlement);
    this.#planRecovery(1_000);
  }

  async #settleAlone(settlement: Settlement): Promise<SettledTotals> {
    this.#keptSettles.keep(settlement);
    this.#options.events.settleKept();
    return this.#local.settle(settlement);
  }

  /** Keeps the totals that an outage continues from. During one, the local counters are ahead. */
  #note(totals: ReturnType<typeof totalsIn>): void {
    if (!this.isAway) for (const { counter, total } of totals) this.#local.setTotal(counter, total);
  }

  /**
   * Keeps what the remote said of windows. In an outage it says nothing, and while others return it
   * lacks what they admitted.
   */
  #noteWindows(check: Check, { status, groupStatus }: Decision): void {
    if (this.isAway || this.#isReturning()) return;
    for (const [index, subject] of subjectsOf(check).entries()) {
      const { requests } = (index === 0 ? status : groupStatus) ?? {};
      if (requests === undefined) continue;
      const nowMs = epochMs();
      const others = requests.limit - requests.remaining - this.#local.slotsUntil(subject, nowMs);
      this.#caps.note(nameOf(subject), { atMs: nowMs, others: Math.max(0, others) });
    }
  }

  /** Announces that this replica is alive, and learns its place. In an outage the recovery does. */
  async #sayAlive(): Promise<void> {
    if (this.isAway || this.#isBeating) return;
    this.#isBeating = true;
    await this.#beat().catch((thrown: unknown) => this.#beginOutage(thrown));
    this.#isBeating = false;
  }

  /** Only a replica that has handed over everything sends one: so others know that it has. */
  async #beat(): Promise<void> {
    const [askedAtMs, outage] = [epochMs(), this.#outage];
    const place = await this.#heartbeats.beat(() => this.#outage === outage);
    if (place !== undefined && this.#partialReturn?.areAllBack(place, askedAtMs)) this.#partialReturn = undefined;
    // The remote has lost data without a noticed outage.
    if (place?.isNew && !this.isAway && !this.#isClosed) await this.#heartbeats.tell(this.#local.admissions());
  }

  /** @throws whatever is not an outage. */
  #beginOutage(thrown: unknown): void {
    if (!isAway(thrown)) throw thrown;
    if (this.isAway) return;
    const sinceMs = epochMs();
    this.#outage = { sinceMs, over: Promise.withResolvers() };
    // Before all were back, nothing was learned about windows: the outage before continues.
    if (!this.#isReturning()) this.#caps.begin(sinceMs);
    this.#partialReturn = undefined;
    this.#options.events.away(thrown);
    this.#planRecovery(0);
  }

  #planRecovery(afterMs: number): void {
    if (this.#recovery !== undefined || this.#isClosed) return;
    this.#recovery = outsideTraces(() => startTimer(() => void this.#recover(), afterMs)).unref();
  }

  async #recover(): Promise<void> {
    try {
      if (this.isAway) await this.#heartbeats.probe();
      else await this.#sayAlive();
      await this.#replaySettles();
      await this.#handOver();
      await this.#replaySettles();
    } catch {} // The remote is still away, or away again.
    this.#recovery = undefined;
    if (this.isAway || this.#isReturning()) this.#planRecovery(probeEveryMs);
    else if (this.#keptSettles.size > 0) this.#planRecovery(1_000);
  }

  /** First while this replica still decides alone; then, while requests wait, what that added. */
  async #handOver(): Promise<void> {
    if (this.#outage === undefined) return;
    const { sinceMs, over } = this.#outage;
    const startedMs = epochMs();
    await this.#heartbeats.tell(this.#local.admissions());
    const rest = this.#handOverRest(startedMs);
    this.#handingOver = Promise.allSettled([rest]);
    try {
      await rest;
      this.#outage = undefined;
      over.resolve();
      this.#options.events.back(epochMs() - sinceMs);
    } finally {
      this.#handingOver = undefined;
    }
  }

  /** Hands over the rest, then tells the other replicas. */
  async #handOverRest(fromMs: number): Promise<void> {
    const { replicas = 1 } = this.#heartbeats.place ?? {};
    await this.#heartbeats.tell(this.#local.admissions().filter(({ enteredMs }) => enteredMs >= fromMs));
    const sinceMs = epochMs();
    await this.#beat();
    // Replicas that decide nothing alone have nothing to hand over.
    if (replicas > 1 && this.#options.failureMode === 'local')
      this.#partialReturn = new PartialReturn(replicas, sinceMs);
  }

  #replaySettles(): Promise<void> {
    return this.#keptSettles.replay((settlement) => this.#settleRemotely(settlement));
  }
}

/** How many keys keep their window and day total for an outage. */
const maxKeys = 10_000;

/** How many admissions of the last minute, and how many settles, are kept for an outage. */
const maxKept = 100_000;

const probeEveryMs = 50;
