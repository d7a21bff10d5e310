import { randomUUID } from 'node:crypto';
import { GatewayError } from '@gateway/errors';
import { RpcError } from '@gateway/rpc';
import { outsideTraces } from '@gateway/telemetry';
import type { Clock, LocalDay } from '@gateway/time';
import { type Check, type Decision, WINDOW_MS } from './decide.ts';
import { type DayTotal, type OwnAdmission, type RemoteLimits, type Settlement, slicesOf } from './limit-store.ts';
import { type Admission, MemoryLimitStore } from './memory-limit-store.ts';
import { LastKnownPlace, type ReplicaPlace, replicaHeartbeatMs, shareOf } from './replica-share.ts';

export interface FallbackOptions<Remote extends RemoteLimits = RemoteLimits> {
  readonly remote: Remote;
  /** The replicas among which limits are divided while the remote is away. */
  readonly group: string;
  readonly clock: Clock;
  readonly events: FallbackEvents;
  /** What happens while the remote is away: decide alone, or fail. */
  readonly failureMode: 'local' | 'closed';
  /** How long one outage may be bridged; then it fails as `closed`. */
  readonly localMaxMs: number;
  /** Among how many replicas limits are divided at least. */
  readonly leastReplicas: number;
  /** Keys whose window and day total are kept for an outage. */
  readonly maxKeys: number;
  /** How many admissions of the last minute, and how many settles, are kept for an outage. */
  readonly maxKept: number;
  /** How often a remote that is away is asked. */
  readonly probeEveryMs: number;
  /** Whether a remote may come back without its memory: then it is given all that was admitted through this replica. */
  readonly mayForget: boolean;
  /** Whether a failure means that the remote is away. Others are its answer. */
  readonly isOutage: (thrown: unknown) => boolean;
}

export interface FallbackEvents {
  away(thrown: unknown): void;
  back(awayMs: number, handedOver: number): void;
  decidedAlone(check: Check): void;
  /** A settle has to wait for the remote, as do so many by now. */
  settleKept?(settlement: Settlement, thrown: unknown): void;
  settleDropped?(): void;
  settlesWaiting?(count: number): void;
}

/**
 * Limits that a remote decides, which may go away. While it is away, each replica decides by its share of a limit from exact windows
 * of its own, and goes on from the day totals that it saw last; settles are kept and replayed, with the same request ids, when the
 * remote answers.
 *
 * The share follows from the number of replicas that the remote had heard of last. A replica that has not reached the remote since it
 * started knows neither that number nor what it admitted before: it decides nothing.
 *
 * The local windows have all that this replica admitted in the last minute, whether it or the remote decided it, and the remote is
 * given what it may not know before it is asked again. So no replica admits more than the limit in any 60 seconds, whatever happens to
 * the remote: one that comes and goes, or comes back empty, does not open a fresh window.
 */
export class FallbackLimits<Remote extends RemoteLimits = RemoteLimits> implements RemoteLimits, AsyncDisposable {
  protected readonly remote: Remote;
  protected readonly local: MemoryLimitStore;
  readonly #options: FallbackOptions<Remote>;
  readonly #replicaId = randomUUID();
  readonly #place = new LastKnownPlace();
  #outage:
    | { readonly sinceMs: number; readonly thrown: unknown; readonly over: PromiseWithResolvers<void> }
    | undefined;
  /** What was admitted here without the remote, and was not handed over. */
  #own: Admission[] = [];
  /** The end of the hand-over, at which nothing is decided. Never rejects. */
  #handingOver: Promise<unknown> | undefined;
  /** Settles that the remote must be given, each once, the oldest first. */
  readonly #pendingSettles = new Map<string, Settlement>();
  #heartbeats: NodeJS.Timeout | undefined;
  #recovery: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: FallbackOptions<Remote>) {
    const { remote, clock, maxKeys, maxKept } = options;
    this.#options = options;
    this.remote = remote;
    const onAdmitted = (admission: Admission) => void this.#own.push(admission);
    this.local = new MemoryLimitStore({ clock, maxKeys, maxRecorded: maxKept, onAdmitted });
  }

  /** Connects. A remote that is not there yet is an outage, not a failure: it is asked again until it answers. */
  async start(): Promise<void> {
    await this.remote.start?.().catch((thrown: unknown) => this.#beginOutage(thrown));
    await this.#sayAlive();
    if (this.#isClosed) return;
    this.#heartbeats = setInterval(() => void this.#sayAlive(), replicaHeartbeatMs).unref();
  }

  /** Whether this replica decides alone now. */
  get isAway(): boolean {
    return this.#outage !== undefined;
  }

  /** The end of the outage that there is. */
  get whenBack(): Promise<void> | undefined {
    return this.#outage?.over.promise;
  }

  notReady(): string | undefined {
    if (!this.isAway) return undefined;
    // Each of several replicas with a wrong address would admit the whole limit by itself: none may start so.
    if (this.#place.current === undefined) return 'the shared store has not been reached yet';
    return this.#mayDecideAlone() ? undefined : 'the shared store is away';
  }

  /**
   * @throws RpcError `unavailable` before the remote was reached once: others can decide.
   * @throws GatewayError `internal_error` while the remote is away and this replica may not decide.
   */
  admit(check: Check): Promise<Decision> {
    const alone = () => this.#admitAlone(check);
    return this.ask(alone, () => this.#admitRemotely(check));
  }

  settle(settlement: Settlement): Promise<DayTotal> {
    const alone = () => this.#settleAlone(settlement);
    return this.ask(alone, () => this.#settleRemotely(settlement));
  }

  /** Without the remote the local windows keep what a caller admitted by itself, and hand it over with their own. */
  heartbeat(group: string, replicaId: string, admissions: readonly OwnAdmission[]): Promise<ReplicaPlace | undefined> {
    const alone = async () => {
      this.#requirePlace();
      const nowMs = this.#options.clock.nowMs();
      for (const { key, requestId, ageMs } of admissions) this.#own.push({ key, requestId, enteredMs: nowMs - ageMs });
      this.local.record(admissions);
      return undefined;
    };
    return this.ask(alone, () => this.remote.heartbeat(group, replicaId, admissions));
  }

  /** Gives a remote that may have forgotten, though it was not noticed to be away, what was admitted here in the last minute. */
  async remind(): Promise<void> {
    if (this.isAway || this.#isClosed) return;
    await this.#handOverOwn(true).catch((thrown: unknown) => this.#beginOutage(thrown));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#heartbeats);
    clearTimeout(this.#recovery);
    await this.#replaySettles();
  }

  /**
   * Asks the remote; while it is away, or when it turns out to be, the local store. Nothing happens between the look whether it is
   * away and the local decision: what is admitted locally is always handed over.
   */
  protected async ask<T>(alone: () => Promise<T>, remotely: () => Promise<T>): Promise<T> {
    for (;;) {
      await this.#handingOver;
      if (this.isAway) return alone();
      try {
        return await remotely();
      } catch (thrown) {
        this.#beginOutage(thrown);
      }
    }
  }

  async #admitRemotely(check: Check): Promise<Decision> {
    const { key, requestId } = check;
    const decision = await this.remote.admit(check);
    const { status, refusal } = decision;
    if (status === undefined || requestId === '') return decision;
    const { tokens, requests, localDay } = status;
    if (tokens !== undefined) this.#noteTotal(key, localDay, Number(tokens.limit - tokens.remaining));
    if (requests !== undefined && refusal === undefined) this.local.record([{ key, requestId, ageMs: 0 }]);
    return decision;
  }

  /** Decides by this replica's share of the limit. Callers are answered the whole limit. */
  async #admitAlone(check: Check): Promise<Decision> {
    const place = this.#requirePlace();
    if (!this.#mayDecideAlone()) throw new GatewayError('internal_error', 'Limits can not be checked at the moment.');
    const { events, leastReplicas } = this.#options;
    events.decidedAlone(check);
    const limit = check.limits?.requestsPerMinute;
    const replicas = Math.max(place.replicas, leastReplicas);
    const requestsPerMinute = limit === undefined ? undefined : shareOf(limit, { ...place, replicas });
    const decision = await this.local.admit({ ...check, limits: { ...check.limits, requestsPerMinute } });
    const { status } = decision;
    if (status !== undefined) status.degraded = true;
    if (status?.requests !== undefined && limit !== undefined) status.requests.limit = limit;
    return decision;
  }

  #mayDecideAlone(): boolean {
    const { failureMode, localMaxMs, clock } = this.#options;
    return failureMode === 'local' && clock.nowMs() - (this.#outage?.sinceMs ?? 0) <= localMaxMs;
  }

  #requirePlace(): ReplicaPlace {
    const place = this.#place.current;
    if (place === undefined) throw new RpcError('unavailable', 'The shared store has not been reached yet.');
    return place;
  }

  async #settleRemotely(settlement: Settlement): Promise<DayTotal> {
    const total = await this.remote.settle(settlement);
    if (total.isLoaded) this.#noteTotal(settlement.key, settlement.localDay, total.usedTokens);
    return total;
  }

  async #settleAlone(settlement: Settlement): Promise<DayTotal> {
    const { events, maxKept } = this.#options;
    this.#pendingSettles.set(JSON.stringify([settlement.key, settlement.localDay, settlement.requestId]), settlement);
    const [oldest = ''] = this.#pendingSettles.keys();
    if (this.#pendingSettles.size > maxKept) {
      this.#pendingSettles.delete(oldest);
      events.settleDropped?.();
    }
    events.settlesWaiting?.(this.#pendingSettles.size);
    events.settleKept?.(settlement, this.#outage?.thrown);
    return this.local.settle(settlement);
  }

  /** What an outage goes on from. In an outage the local counter is ahead of the remote. */
  #noteTotal(key: string, day: LocalDay, usedTokens: number): void {
    if (!this.isAway) this.local.setDayTotal(key, day, usedTokens);
  }

  /** Announces that this replica lives, and learns its place. In an outage the recovery does. */
  async #sayAlive(): Promise<void> {
    if (!this.isAway) await this.#beat([]).catch((thrown: unknown) => this.#beginOutage(thrown));
  }

  async #beat(admissions: readonly OwnAdmission[]): Promise<void> {
    let place: ReplicaPlace | undefined;
    try {
      place = await this.remote.heartbeat(this.#options.group, this.#replicaId, admissions);
    } finally {
      this.#place.note(place, this.#options.clock.nowMs());
    }
  }

  /** @throws what is no outage. */
  #beginOutage(thrown: unknown): void {
    const { clock, events, isOutage } = this.#options;
    if (!isOutage(thrown)) throw thrown;
    if (this.isAway) return;
    this.#outage = { sinceMs: clock.nowMs(), thrown, over: Promise.withResolvers() };
    events.away(thrown);
    this.#planRecovery(0);
  }

  #planRecovery(afterMs: number): void {
    if (this.#recovery !== undefined || this.#isClosed) return;
    // Not a part of the request that happened to find the remote away.
    this.#recovery = outsideTraces(() => setTimeout(() => void this.#recover(), afterMs)).unref();
  }

  async #recover(): Promise<void> {
    const oldestMs = this.#options.clock.nowMs() - WINDOW_MS;
    this.#own = this.#own.filter(({ enteredMs }) => enteredMs > oldestMs);
    try {
      await this.#beat([]);
      await this.#replaySettles();
      await this.#handOver();
      // Those that were settled during the hand-over.
      await this.#replaySettles();
    } catch {
      // It is away still, or again.
    }
    this.#recovery = undefined;
    if (this.isAway) this.#planRecovery(this.#options.probeEveryMs);
    else if (this.#pendingSettles.size > 0) this.#planRecovery(1_000);
  }

  /**
   * Gives the remote what it may not know, while this replica still decides alone, and then, while all wait, what was admitted
   * meanwhile.
   */
  async #handOver(): Promise<void> {
    const { clock, events, mayForget } = this.#options;
    if (this.#outage === undefined) return;
    const { sinceMs, over } = this.#outage;
    const first = await this.#handOverOwn(mayForget);
    const rest = this.#handOverOwn(false);
    this.#handingOver = Promise.allSettled([rest]);
    try {
      const handedOver = first + (await rest);
      this.#outage = undefined;
      over.resolve();
      events.back(clock.nowMs() - sinceMs, handedOver);
    } finally {
      this.#handingOver = undefined;
    }
  }

  /** What was admitted without the remote, or with all that the remote admitted in the last minute. Answers how many there were. */
  async #handOverOwn(withAll: boolean): Promise<number> {
    const own = this.#own;
    this.#own = [];
    const admissions = withAll ? this.local.admissions() : own;
    try {
      for (const some of slicesOf(admissions)) {
        const nowMs = this.#options.clock.nowMs();
        const ageOf = (enteredMs: number) => Math.max(0, nowMs - enteredMs);
        await this.#beat(some.map(({ key, requestId, enteredMs }) => ({ key, requestId, ageMs: ageOf(enteredMs) })));
      }
    } catch (thrown) {
      this.#own = [...own, ...this.#own];
      throw thrown;
    }
    return admissions.length;
  }

  /** A settle that the remote does not take must not keep the others waiting; when it takes none of many, it is away. */
  async #replaySettles(): Promise<void> {
    for (const some of slicesOf([...this.#pendingSettles])) {
      const replays = some.map(async ([name, settlement]) => {
        await this.#settleRemotely(settlement);
        this.#pendingSettles.delete(name);
      });
      const outcomes = await Promise.allSettled(replays);
      if (outcomes.every(({ status }) => status === 'rejected')) break;
    }
    this.#options.events.settlesWaiting?.(this.#pendingSettles.size);
  }
}
