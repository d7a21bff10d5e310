import { CostKind, type Refusal } from '@gateway/proto/limiter/v2/limit_pb.js';
import { RpcError } from '@gateway/rpc';
import { outsideTraces } from '@gateway/telemetry';
import { cancelTimer, epochMs, startInterval, startTimer, type Timer } from '@gateway/time';
import type { Decision } from './decide.ts';
import { type FallbackOptions, mayNotDecide } from './fallback-options.ts';
import { Heartbeats } from './heartbeats.ts';
import { KeptSettles } from './kept-settles.ts';
import { handOverTotals } from './known-totals.ts';
import type { Heartbeat, RemoteLimits, SettledTotals, Settlement } from './limit-store.ts';
import { type Check, type Reservation, withLedgerAway } from './limited-key.ts';
import { MemoryLimitStore } from './memory-limit-store.ts';
import type { Admission } from './minute-window.ts';
import { OwnAdmissions } from './own-admissions.ts';
import { PartialReturn } from './partial-return.ts';
import { slotsIn, totalsAfter, totalsIn } from './remote-answers.ts';
import { asWhole, checkByShare, type ReplicaPlace, replicaHeartbeatMs } from './replica-share.ts';

/**
 * Limits that a remote store decides, and that survive its outages. While the remote is away, each
 * replica enforces its share of requests per minute and at a time from exact windows and places of
 * its own, and continues from the totals that it saw last. It has its share of what was left of a
 * budget, and nothing of one that it never saw. Settles are kept, and replayed with the same
 * request ids when the remote answers.
 *
 * The share is the limit divided by the number of replicas that the remote last reported. A replica
 * that has not reached the remote since it started knows neither that number nor what it admitted
 * before, so it decides nothing.
 *
 * The local windows hold everything that this replica admitted in the last minute, whether the
 * replica or the remote decided it. Before the remote is asked again, it receives every admission
 * that it may lack. Then, until all other replicas have returned too, this replica still keeps to
 * its share: a request needs the consent of both. So no replica admits more than the limit in any
 * 60 seconds, whatever happens to the remote: a remote that flaps, or that returns empty, does not
 * open a fresh window.
 */
export class FallbackLimits<Remote extends RemoteLimits = RemoteLimits> implements RemoteLimits, AsyncDisposable {
  protected readonly remote: Remote;
  protected readonly local: MemoryLimitStore;
  readonly #options: FallbackOptions<Remote>;
  readonly #heartbeats: Heartbeats;
  #outage: { readonly sinceMs: number; readonly over: PromiseWithResolvers<void> } | undefined;
  readonly #own: OwnAdmissions;
  /** Resolves when the hand-over ends; nothing is decided until then. Never rejects. */
  #handingOver: Promise<unknown> | undefined;
  /** Set while the remote is back here, but may lack what other replicas have not handed over. */
  #partialReturn: PartialReturn | undefined;
  readonly #keptSettles: KeptSettles;
  #heartbeatTimer: Timer | undefined;
  #recovery: Timer | undefined;
  #isBeating = false;
  #isClosed = false;

  constructor(options: FallbackOptions<Remote>) {
    const { remote, maxKeys, maxKept } = options;
    this.#options = options;
    this.#heartbeats = new Heartbeats(options);
    this.#own = new OwnAdmissions(this.#heartbeats);
    this.#keptSettles = new KeptSettles(options);
    this.remote = remote;
    const onAdmitted = (admission: Admission) => {
      if (this.isAway) this.#own.keep(admission);
    };
    const onReturned = (slot: Admission) => {
      if (this.isAway) this.#own.giveBack(slot);
    };
    this.local = new MemoryLimitStore({ maxKeys, maxRecorded: maxKept, onAdmitted, onReturned });
  }

  /** Connects. A remote that is not reachable yet is an outage: it is probed until it answers. */
  async start(): Promise<void> {
    await this.remote.start?.().catch((thrown: unknown) => this.#beginOutage(thrown));
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

  notReady(): string | undefined {
    if (!this.isAway) return undefined;
    // Several replicas with a wrong address would each admit the whole limit, so none may become
    // ready.
    if (this.#heartbeats.place === undefined) return 'the shared store has not been reached yet';
    return this.#mayDecideAlone() ? undefined : 'the shared store is away';
  }

  /**
   * @throws RpcError `unavailable` until the remote is first reached: other replicas can decide.
   * @throws GatewayError `providers_unavailable` while this replica may not decide alone.
   */
  admit(check: Check): Promise<Decision> {
    const alone = () => this.#admitAlone(check);
    return this.ask(alone, () => (this.#isReturning() ? this.#admitByBoth(check) : this.#admitRemotely(check)));
  }

  /** @throws like `admit`. */
  reserve(reservation: Reservation): Promise<Refusal | undefined> {
    const alone = async () =>
      this.local.reserve({ ...withLedgerAway(reservation), place: this.#sharing(this.#requireMayDecide()) });
    return this.ask(alone, async () => {
      const refusal = await this.remote.reserve(reservation);
      if (refusal !== undefined) this.local.giveBack(reservation);
      else await this.local.renew([reservation]);
      return refusal;
    });
  }

  renew(running: readonly Reservation[]): Promise<void> {
    const alone = () => this.local.renew(running);
    return this.ask(alone, async () => {
      await this.remote.renew(running);
      await this.local.renew(running);
    });
  }

  settle(settlement: Settlement): Promise<SettledTotals> {
    const alone = () => this.#settleAlone(settlement);
    return this.ask(alone, () => this.#settleRemotely(settlement));
  }

  /**
   * While the remote is away, the local windows keep what a caller admitted by itself, and this
   * replica hands it over with its own admissions.
   */
  heartbeat(beat: Heartbeat): Promise<ReplicaPlace | undefined> {
    const alone = async () => {
      this.#requirePlace();
      const nowMs = epochMs();
      for (const { ageMs, ...admission } of beat.admissions) this.#own.keep({ ...admission, enteredMs: nowMs - ageMs });
      this.local.record(beat.admissions);
      return undefined;
    };
    return this.ask(alone, () => this.remote.heartbeat(beat));
  }

  /** Hands over the last minute to a remote that may have lost data without a noticed outage. */
  async remind(): Promise<void> {
    if (this.isAway || this.#isClosed) return;
    await handOverTotals(this.#options, this.local)
      .then(() => this.#own.handOver(this.local.admissions()))
      .catch((thrown: unknown) => this.#beginOutage(thrown));
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
  protected async ask<T>(alone: () => Promise<T>, remotely: () => Promise<T>): Promise<T> {
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
    const decision = await this.remote.admit(check);
    if (decision.status === undefined || check.requestId === '') return decision;
    this.#note(totalsIn(check, decision));
    if (decision.refusal !== undefined || decision.unloaded !== undefined) return decision;
    const slots = slotsIn(check, decision);
    if (slots.length > 0) this.local.record(slots);
    if (check.costKind !== CostKind.REQUEST_ONLY)
      await this.local.renew([{ ...check, localDay: decision.status.localDay, costMicros: 0 }]);
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
      if (!isAdmitted) this.local.release(check);
    }
  }

  /** Decides by this replica's share of the limit. The answer shows callers the whole limit. */
  async #admitByShare(check: Check, place: ReplicaPlace): Promise<Decision> {
    return asWhole(check, await this.local.admit(checkByShare(check, this.#sharing(place))));
  }

  #sharing(place: ReplicaPlace): ReplicaPlace {
    return { ...place, replicas: Math.max(place.replicas, this.#options.leastReplicas) };
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
    const totals = await this.remote.settle(settlement);
    this.#note(totalsAfter(settlement, totals));
    if (settlement.ended === true) this.local.end(settlement);
    return totals;
  }

  /** Settles again later, under the same id, because it is not known whether the remote did. */
  protected keepSettle(settlement: Settlement): void {
    this.#keptSettles.keep(settlement);
    this.#planRecovery(1_000);
  }

  async #settleAlone(settlement: Settlement): Promise<SettledTotals> {
    this.#keptSettles.keep(settlement);
    this.#options.events.settleKept?.();
    return this.local.settle(settlement);
  }

  /** Keeps the totals that an outage continues from. During one, the local counters are ahead. */
  #note(totals: ReturnType<typeof totalsIn>): void {
    if (!this.isAway) for (const { counter, total } of totals) this.local.setTotal(counter, total);
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
    if (place?.isNew) await this.remind();
  }

  /** @throws whatever is not an outage. */
  #beginOutage(thrown: unknown): void {
    const { events, isOutage } = this.#options;
    if (!isOutage(thrown)) throw thrown;
    if (this.isAway) return;
    this.#outage = { sinceMs: epochMs(), over: Promise.withResolvers() };
    this.#partialReturn = undefined;
    events.away(thrown);
    this.#planRecovery(0);
  }

  #planRecovery(afterMs: number): void {
    if (this.#recovery !== undefined || this.#isClosed) return;
    this.#recovery = outsideTraces(() => startTimer(() => void this.#recover(), afterMs)).unref();
  }

  async #recover(): Promise<void> {
    this.#own.forgetOld();
    try {
      // Kept settles come on top of what was known when the outage began.
      if (this.isAway) await this.#heartbeats.tell([]).then(() => handOverTotals(this.#options, this.local));
      else await this.#sayAlive();
      await this.#replaySettles();
      await this.#handOver();
      await this.#replaySettles();
    } catch {} // The remote is still away, or away again.
    this.#recovery = undefined;
    if (this.isAway || this.#isReturning()) this.#planRecovery(this.#options.probeEveryMs);
    else if (this.#keptSettles.size > 0) this.#planRecovery(1_000);
  }

  /** First while this replica still decides alone; then, while requests wait, what that added. */
  async #handOver(): Promise<void> {
    const { events, mayForget } = this.#options;
    if (this.#outage === undefined) return;
    const { sinceMs, over } = this.#outage;
    const first = await this.#own.handOver(mayForget ? this.local.admissions() : undefined);
    const rest = this.#handOverRest();
    this.#handingOver = Promise.allSettled([rest]);
    try {
      const handedOver = first + (await rest);
      this.#outage = undefined;
      over.resolve();
      events.back(epochMs() - sinceMs, handedOver);
    } finally {
      this.#handingOver = undefined;
    }
  }

  /** Hands over the rest, then tells the other replicas. Returns how many admissions there were. */
  async #handOverRest(): Promise<number> {
    const { replicas = 1 } = this.#heartbeats.place ?? {};
    const [handedOver, sinceMs] = [await this.#own.handOver(), epochMs()];
    await this.#beat();
    // Replicas that decide nothing alone have nothing to hand over.
    if (replicas > 1 && this.#options.failureMode === 'local')
      this.#partialReturn = new PartialReturn(replicas, sinceMs);
    return handedOver;
  }

  #replaySettles(): Promise<void> {
    return this.#keptSettles.replay((settlement) => this.#settleRemotely(settlement));
  }
}
