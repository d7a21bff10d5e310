import { randomUUID } from 'node:crypto';
import { GatewayError } from '@gateway/errors';
import { LastKnownPlace, type ReplicaPlace, replicaHeartbeatMs, shareOf } from '@gateway/lifecycle/replica-share';
import { RpcError } from '@gateway/rpc';
import type { Logger } from '@gateway/telemetry';
import type { Clock, LocalDay } from '@gateway/time';
import type { LimiterConfig } from '../config.ts';
import { type LimiterMetrics, reasonOf } from '../metrics.ts';
import type { Decision, RecordedAdmission } from '../windows/decide.ts';
import * as port from './limit-store.ts';
import { MemoryLimitStore } from './memory-limit-store.ts';

export interface RemoteLimitStore extends port.LimitStore {
  /** Fails while the store is away, and while it takes nothing new. */
  probe(): Promise<void>;
}

export interface FallbackLimitStoreOptions extends Pick<LimiterConfig, 'failureMode' | 'localMaxMs' | 'leastReplicas'> {
  readonly remote: RemoteLimitStore;
  readonly clock: Clock;
  readonly metrics: LimiterMetrics;
  readonly logger: Logger;
  /** How many keys, admissions and settles are kept for an outage. */
  readonly maxKept: number;
  /** How often a store that is away is asked. */
  readonly probeEveryMs?: number;
}

/**
 * A shared store that may go away. While it is away, each process decides by its share of a limit from exact windows of its own,
 * and goes on from the day totals that it saw last; settles are kept and replayed, with the same request ids, when the store answers.
 *
 * The share follows from the number of processes that the store had heard of last. A process that has not reached the store since
 * it started knows neither that number nor what it admitted before: it decides nothing.
 *
 * The local windows have all that this process admitted in the last minute, whether it or the store decided it, and the store is given
 * all of it before it is asked again. So no process admits more than the limit in any 60 seconds, whatever happens to the store: one
 * that comes and goes, or comes back empty, does not open a fresh window.
 */
export class FallbackLimitStore implements port.LimitStore, AsyncDisposable {
  readonly #options: FallbackLimitStoreOptions;
  readonly #remote: RemoteLimitStore;
  readonly #local: MemoryLimitStore;
  /** Settles that the store must be given, each once, the oldest first. */
  readonly #pendingSettles = new Map<string, port.Settlement>();
  readonly #replicaId = randomUUID();
  readonly #place = new LastKnownPlace();
  #awaySinceMs: number | undefined;
  #heartbeats: NodeJS.Timeout | undefined;
  #recovery: NodeJS.Timeout | undefined;
  /** What is admitted while the admissions before it are handed over. */
  #admittedMeanwhile: port.KeyedAdmission[] | undefined;
  /** The end of the hand-over. Nothing else is asked before. */
  #handingOver: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: FallbackLimitStoreOptions) {
    const { remote, clock, maxKept } = options;
    this.#options = options;
    this.#remote = remote;
    const onAdmitted = (key: string, requestId: string) => this.#admittedMeanwhile?.push({ key, requestId, ageMs: 0 });
    this.#local = new MemoryLimitStore({ clock, maxKeys: maxKept, maxRecorded: maxKept, onAdmitted });
  }

  /** Connects. A store that is not there yet is an outage, not a failure: it is asked again until it answers. */
  async start(): Promise<void> {
    await this.#remote.start?.().catch((thrown: unknown) => this.#beginOutage(thrown));
    await this.#sayAlive();
    this.#heartbeats = setInterval(() => void this.#sayAlive(), replicaHeartbeatMs).unref();
  }

  /** Whether this process decides alone now. */
  get isAway(): boolean {
    return this.#awaySinceMs !== undefined;
  }

  notReady(): string | undefined {
    if (!this.isAway) return undefined;
    // Each of several limiters with a wrong address would admit the whole limit by itself: none may start so.
    if (this.#place.current === undefined) return 'the shared store has not been reached yet';
    return this.#mayDecideAlone() ? undefined : 'the shared store is away';
  }

  admit(check: port.Check): Promise<Decision | port.DayTotalUnknown> {
    const alone = () => this.#admitAlone(check);
    return this.#ask(alone, () => this.#admitRemotely(check));
  }

  settle(settlement: port.Settlement): Promise<port.DayTotal> {
    const alone = () => this.#settleAlone(settlement);
    return this.#ask(alone, () => this.#settleRemotely(settlement));
  }

  /** Only shared counters are reloaded again and again; those of an outage end with it. */
  pendingIds(key: string, day: LocalDay, pauseMs: number): Promise<readonly string[] | undefined> {
    return this.#ask(unknown, (remote) => remote.pendingIds(key, day, pauseMs));
  }

  reloadDay(key: string, day: LocalDay, total: port.LedgerTotal): Promise<port.ReloadedDay> {
    const alone = () => this.#local.reloadDay(key, day, total);
    return this.#ask(alone, (remote) => remote.reloadDay(key, day, total));
  }

  /** Without the shared store these local windows keep them, and hand them over with their own. */
  recordAdmissions(key: string, admissions: readonly RecordedAdmission[]): Promise<void> {
    const alone = async () => {
      this.#requirePlace();
      this.#admittedMeanwhile?.push(...admissions.map((admission) => ({ key, ...admission })));
      await this.#local.recordAdmissions(key, admissions);
    };
    return this.#ask(alone, (remote) => remote.recordAdmissions(key, admissions));
  }

  heartbeat(group: string, replicaId: string): Promise<ReplicaPlace | undefined> {
    const alone = async () => void this.#requirePlace();
    return this.#ask(alone, (remote) => remote.heartbeat(group, replicaId));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#heartbeats);
    clearTimeout(this.#recovery);
    await this.#replaySettles();
  }

  /**
   * Asks the remote store; while it is away, or when it turns out to be, the local one. Nothing happens between the look whether it is
   * away and the local decision: what is admitted locally is always handed over.
   */
  async #ask<T>(alone: () => Promise<T>, ask: (remote: RemoteLimitStore) => Promise<T>): Promise<T> {
    for (;;) {
      await this.#handingOver;
      if (this.isAway) return alone();
      try {
        return await ask(this.#remote);
      } catch (thrown) {
        this.#beginOutage(thrown);
      }
    }
  }

  async #admitRemotely(check: port.Check): Promise<Decision | port.DayTotalUnknown> {
    const decision = await this.#remote.admit(check);
    if (decision.kind === 'day_total_unknown' || check.requestId === undefined) return decision;
    const { tokens, requests, localDay } = decision.status;
    if (tokens !== undefined) this.#noteTotal(check.key, localDay, tokens.limit - tokens.remaining);
    if (requests !== undefined && decision.kind === 'admitted')
      await this.#local.recordAdmissions(check.key, [{ requestId: check.requestId, ageMs: 0 }]);
    return decision;
  }

  /** Decides by this process' share of the limit. Callers are answered the whole limit. */
  async #admitAlone(check: port.Check): Promise<Decision | port.DayTotalUnknown> {
    if (!this.#mayDecideAlone()) throw new GatewayError('internal_error', 'Limits can not be checked at the moment.');
    const place = this.#requirePlace();
    this.#options.metrics.degraded.inc();
    const replicas = Math.max(place.replicas, this.#options.leastReplicas);
    const limit = check.limits.requestsPerMinute;
    const requestsPerMinute = limit === undefined ? undefined : shareOf(limit, { ...place, replicas });
    const decision = await this.#local.admit({ ...check, limits: { ...check.limits, requestsPerMinute } });
    if (decision.kind === 'day_total_unknown') return decision;
    const { requests } = decision.status;
    const whole = requests && limit !== undefined ? { ...requests, limit } : undefined;
    return { ...decision, status: { ...decision.status, requests: whole, degraded: true } };
  }

  #mayDecideAlone(): boolean {
    const { failureMode, localMaxMs, clock } = this.#options;
    return failureMode === 'local' && clock.nowMs() - (this.#awaySinceMs ?? 0) <= localMaxMs;
  }

  /** Fails before the shared store was reached: as a limiter that is not there, so that callers ask another one. */
  #requirePlace(): ReplicaPlace {
    const place = this.#place.current;
    if (place === undefined) throw new RpcError('unavailable', 'The shared store has not been reached yet.');
    return place;
  }

  /** Announces that this process lives, and learns its place among them. */
  async #sayAlive(): Promise<void> {
    const place = await this.#ask(unknown, (remote) => remote.heartbeat('limiter', this.#replicaId));
    if (place !== undefined) this.#place.note(place, this.#options.clock.nowMs());
  }

  async #settleRemotely(settlement: port.Settlement): Promise<port.DayTotal> {
    const total = await this.#remote.settle(settlement);
    if (total.isLoaded) this.#noteTotal(settlement.key, settlement.localDay, total.usedTokens);
    return total;
  }

  /** What an outage goes on from. In an outage the local counter is ahead of the store. */
  #noteTotal(key: string, day: LocalDay, usedTokens: number): void {
    if (!this.isAway) this.#local.setDayTotal(key, day, usedTokens);
  }

  async #settleAlone(settlement: port.Settlement): Promise<port.DayTotal> {
    const { metrics, maxKept } = this.#options;
    this.#pendingSettles.set(JSON.stringify([settlement.key, settlement.localDay, settlement.requestId]), settlement);
    for (const name of this.#pendingSettles.keys()) {
      if (this.#pendingSettles.size <= maxKept) break;
      this.#pendingSettles.delete(name);
      metrics.droppedSettles.inc();
    }
    metrics.pendingSettles.set(this.#pendingSettles.size);
    this.#planRecovery();
    return this.#local.settle(settlement);
  }

  #beginOutage(thrown: unknown): void {
    if (this.isAway) return;
    const { clock, metrics, logger } = this.#options;
    this.#awaySinceMs = clock.nowMs();
    metrics.outages.inc();
    metrics.storeAway.set(1);
    logger.warn({ reason: reasonOf(thrown) }, 'the shared store does not answer');
    this.#planRecovery();
  }

  #planRecovery(): void {
    if (this.#recovery !== undefined || this.#isClosed) return;
    this.#recovery = setTimeout(() => void this.#recover(), this.#options.probeEveryMs ?? 250).unref();
  }

  async #recover(): Promise<void> {
    try {
      await this.#remote.probe();
      await this.#replaySettles();
      if (this.isAway) await this.#handOver();
      // Those that were settled during the hand-over.
      if (!this.isAway) await this.#replaySettles();
    } catch {
      // It is away still, or again, and is asked again.
    }
    this.#admittedMeanwhile = undefined;
    this.#recovery = undefined;
    if (this.isAway || this.#pendingSettles.size > 0) this.#planRecovery();
  }

  /** Gives the store what this process admitted in the last minute, while it still decides alone, and then what it admitted meanwhile. */
  async #handOver(): Promise<void> {
    const { clock, metrics, logger } = this.#options;
    const admissions = this.#local.admissions();
    const meanwhile: port.KeyedAdmission[] = [];
    this.#admittedMeanwhile = meanwhile;
    await port.recordAll(this.#remote, admissions);
    logger.info({ durationMs: clock.nowMs() - (this.#awaySinceMs ?? 0) }, 'the shared store answers again');
    this.#awaySinceMs = undefined;
    metrics.storeAway.set(0);
    this.#handingOver = port
      .recordAll(this.#remote, meanwhile)
      .then(() => metrics.handedOver.inc(admissions.length + meanwhile.length))
      .catch((thrown: unknown) => this.#beginOutage(thrown))
      .finally(() => {
        this.#handingOver = undefined;
      });
    await this.#handingOver;
    await this.#sayAlive();
  }

  /** A settle that the store does not take must not keep the others waiting; when it takes none of many, it is away. */
  async #replaySettles(): Promise<void> {
    for (const some of port.slicesOf([...this.#pendingSettles])) {
      const replays = some.map(async ([name, settlement]) => {
        await this.#settleRemotely(settlement);
        this.#pendingSettles.delete(name);
      });
      const outcomes = await Promise.allSettled(replays);
      if (outcomes.every(({ status }) => status === 'rejected')) break;
    }
    this.#options.metrics.pendingSettles.set(this.#pendingSettles.size);
  }
}

async function unknown(): Promise<undefined> {}
