import { randomUUID } from 'node:crypto';
import { GatewayError } from '@gateway/errors';
import { LastKnownPlace, type ReplicaPlace, replicaHeartbeatMs } from '@gateway/lifecycle/replica-share';
import { RpcError } from '@gateway/rpc';
import type { Clock, LocalDay } from '@gateway/time';
import type { LimiterEvents } from '../limiter-events.ts';
import type { Decision, LimitStatus } from '../windows/limit-status.ts';
import { reasonOf } from './failure-reason.ts';
import { handOverAdmissions } from './hand-over-admissions.ts';
import type {
  AdmitCheck,
  DayBaseUnknown,
  DayTotal,
  KeyQuestion,
  LimitStore,
  RecordedAdmission,
  Settlement,
} from './limit-store.ts';
import type { MemoryLimitStore } from './memory-limit-store.ts';
import { PendingSettles } from './pending-settles.ts';
import { SeenTotals } from './seen-totals.ts';
import { asDegraded, shareOfLimits } from './share-of-limits.ts';
import { TickBatch } from './tick-batch.ts';

/** A store that can be away, be asked whether it still is, and be told what was admitted meanwhile. */
export interface RemoteLimitStore extends LimitStore {
  /** Fails while the store is away, and while it takes nothing new. */
  probe(): Promise<void>;
}

export interface OutageTolerantStoreOptions {
  readonly remote: RemoteLimitStore;
  /** Decides while the remote store is away. */
  readonly local: MemoryLimitStore;
  readonly clock: Clock;
  readonly events: LimiterEvents;
  /** What happens while the remote store is away: decide from the local windows, or fail. */
  readonly failureMode: 'local' | 'closed';
  /** How long the local windows may decide in one outage; then it fails as `closed`. */
  readonly localMaxMs: number;
  /** Among how many processes like this one a limit is divided meanwhile at least; default 1. More, when more were heard of. */
  readonly leastReplicas?: number;
  /** How many keys' day totals, and how many settles, are kept for an outage. */
  readonly maxKept: number;
  /** How often a store that is away is asked. */
  readonly probeEveryMs?: number;
}

/**
 * A shared store that may go away. While it is away, each process decides from exact windows of its own, starting with
 * the day totals that it saw last; settles are kept and told again, with the same request ids, when the store answers.
 * The first call that fails is answered locally too, so no caller waits longer than the remote store's own deadline.
 *
 * Each process admits its share of a limit only, by the number of processes that the store had heard of last. One that has not
 * reached the store since it started knows neither that number nor what it admitted before: it decides nothing.
 *
 * The local windows hold all that this process admitted in the last minute, whoever decided it, and the store is told of it
 * before it is asked again. So no process admits more than the limit in any 60 seconds, whatever happens to the store: one
 * that comes and goes, or comes back empty, does not open a fresh window.
 */
export class OutageTolerantStore implements LimitStore, AsyncDisposable {
  readonly #options: OutageTolerantStoreOptions;
  readonly #lastSeen: SeenTotals;
  readonly #pending: PendingSettles;
  /** Calls of one tick travel together: most of what the remote store costs is the call. */
  readonly #checks = new TickBatch((checks: readonly AdmitCheck[]) => this.admitAll(checks));
  readonly #settlements = new TickBatch((settlements: readonly Settlement[]) => this.settleAll(settlements));
  readonly #replicaId = randomUUID();
  readonly #place = new LastKnownPlace();
  #awaySinceMs: number | undefined;
  #heartbeats: NodeJS.Timeout | undefined;
  #recovery: NodeJS.Timeout | undefined;
  /** The last of what the store is told after an outage; nothing else is asked before. */
  #handingOver: Promise<void> | undefined;
  /** While the first of it is handed over: what callers admitted by themselves and handed over here meanwhile. */
  #recordedLate: RecordedAdmissions[] | undefined;
  #closed = false;

  constructor(options: OutageTolerantStoreOptions) {
    this.#options = options;
    this.#lastSeen = new SeenTotals(options.clock, options.maxKept);
    this.#pending = new PendingSettles(options.maxKept, options.events.settleDropped);
  }

  /** Connects. A store that is not there yet is an outage, not a failure: it is asked again until it answers. */
  async start(): Promise<void> {
    try {
      await this.#options.remote.start?.();
      await this.#sayAlive();
    } catch (thrown) {
      this.#beginOutage(thrown);
    }
    this.#heartbeats = setInterval(() => void this.#sayAlive(), replicaHeartbeatMs).unref();
  }

  /** Whether each process decides alone now. */
  get isAway(): boolean {
    return this.#awaySinceMs !== undefined;
  }

  notReady(): string | undefined {
    if (this.#awaySinceMs === undefined) return undefined;
    // Each of several limiters with a wrong address would admit the whole limit by itself: none may start so.
    if (this.#place.current === undefined) return 'the shared store has not been reached yet';
    return this.#mayDecideLocally() ? undefined : 'the shared store is away';
  }

  admit(check: AdmitCheck): Promise<Decision | DayBaseUnknown> {
    return this.#checks.ask(check);
  }

  async admitAll(checks: readonly AdmitCheck[]): ReturnType<LimitStore['admitAll']> {
    const answers = await this.#tryRemote((store) => store.admitAll(checks));
    if (answers === undefined) return this.#decideAlone(checks);
    for (const [index, check] of checks.entries()) this.#noteDecision(check, answers[index]);
    return answers;
  }

  settle(settlement: Settlement): Promise<DayTotal> {
    return this.#settlements.ask(settlement);
  }

  async settleAll(settlements: readonly Settlement[]): Promise<readonly DayTotal[]> {
    const totals = await this.#tryRemote((store) => store.settleAll(settlements));
    if (totals === undefined) return this.#keepForLater(settlements);
    this.#noteTotals(settlements, totals);
    return totals;
  }

  async peek(question: KeyQuestion): ReturnType<LimitStore['peek']> {
    const answer = await this.#tryRemote((store) => store.peek(question));
    if (answer === undefined) {
      const alone = await this.#options.local.peek(this.#askedAlone(question));
      return alone.kind === 'status' ? { ...alone, status: asDegraded(alone.status, question.limits) } : alone;
    }
    if (answer.kind === 'status') this.#noteStatus(question.key, answer.status);
    return answer;
  }

  async rememberDayBase(key: string, day: LocalDay, tokens: number): Promise<number> {
    const total = await this.#tryRemote((store) => store.rememberDayBase(key, day, tokens));
    return total ?? this.#options.local.rememberDayBase(key, day, tokens);
  }

  /** Only the shared counters are compared with the ledger; those of an outage end with it. */
  beginReconciliation(...parameters: Parameters<LimitStore['beginReconciliation']>) {
    return this.#tryRemote((store) => store.beginReconciliation(...parameters));
  }

  finishReconciliation(...parameters: Parameters<LimitStore['finishReconciliation']>) {
    return this.#tryRemote((store) => store.finishReconciliation(...parameters));
  }

  /** Without the shared store these local windows keep them, and hand them over with their own. */
  async recordAdmissions(key: string, admissions: readonly RecordedAdmission[]): Promise<void> {
    const recorded = await this.#tryRemote((store) => store.recordAdmissions(key, admissions).then(() => true));
    if (recorded !== undefined) return;
    this.#lastPlace();
    this.#recordedLate?.push([key, admissions]);
    await this.#options.local.recordAdmissions(key, admissions);
  }

  async heartbeat(group: string, replicaId: string): Promise<ReplicaPlace | undefined> {
    const place = await this.#tryRemote((store) => store.heartbeat(group, replicaId));
    if (place === undefined) this.#lastPlace();
    return place;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearInterval(this.#heartbeats);
    clearTimeout(this.#recovery);
    if (this.#pending.size > 0) await this.#tellPending();
  }

  #decideAlone(checks: readonly AdmitCheck[]): readonly (Decision | DayBaseUnknown)[] {
    return checks.map((check) => {
      const decision = this.#options.local.admit(this.#askedAlone(check));
      if (decision.kind === 'day_base_unknown') return decision;
      return { ...decision, status: asDegraded(decision.status, check.limits) };
    });
  }

  /** A question as the local store is to be asked it. Fails when it may not be asked. */
  #askedAlone<Q extends KeyQuestion>(question: Q): Q {
    if (!this.#mayDecideLocally()) throw new GatewayError('internal_error', 'Limits can not be checked at the moment.');
    const place = this.#lastPlace();
    this.#giveLocalBase(question.key);
    this.#options.events.degraded();
    const replicas = Math.max(place.replicas, this.#options.leastReplicas ?? 1);
    return { ...question, limits: shareOfLimits(question.limits, { ...place, replicas }) };
  }

  /** Fails before the shared store was reached: as a limiter that is not there, so that callers ask another one. */
  #lastPlace(): ReplicaPlace {
    const place = this.#place.current;
    if (place === undefined) throw new RpcError('unavailable', 'The shared store has not been reached yet.');
    return place;
  }

  /** Says to the other processes that this one lives, and learns its place among them. */
  async #sayAlive(): Promise<void> {
    const place = await this.#tryRemote((store) => store.heartbeat(groupOfLimiters, this.#replicaId));
    if (place !== undefined) this.#place.note(place, this.#options.clock.nowMs());
  }

  async #keepForLater(settlements: readonly Settlement[]): Promise<readonly DayTotal[]> {
    for (const settlement of settlements) {
      this.#pending.add(settlement);
      this.#giveLocalBase(settlement.key);
    }
    this.#options.events.settlesPending(this.#pending.size);
    this.#planRecovery();
    return this.#options.local.settleAll(settlements);
  }

  /** Undefined when the remote store is away, or turns out to be. */
  async #tryRemote<T>(ask: (store: LimitStore) => Promise<T>): Promise<T | undefined> {
    if (this.#handingOver !== undefined) await this.#handingOver;
    if (this.#awaySinceMs !== undefined) return undefined;
    try {
      return await ask(this.#options.remote);
    } catch (thrown) {
      this.#beginOutage(thrown);
      return undefined;
    }
  }

  #mayDecideLocally(): boolean {
    const { failureMode, localMaxMs, clock } = this.#options;
    return failureMode === 'local' && clock.nowMs() - (this.#awaySinceMs ?? Infinity) <= localMaxMs;
  }

  /** What the remote store decided, for when it is away. */
  #noteDecision({ key, requestId }: AdmitCheck, answer: Decision | DayBaseUnknown | undefined): void {
    if (answer === undefined || answer.kind === 'day_base_unknown') return;
    this.#noteStatus(key, answer.status);
    if (answer.kind === 'admitted' && answer.status.requests !== undefined)
      this.#options.local.noteAdmission(key, requestId);
  }

  #noteStatus(key: string, { tokens, localDay }: LimitStatus): void {
    if (tokens !== undefined) this.#lastSeen.note(key, localDay, tokens.limit - tokens.remaining);
  }

  #noteTotals(settlements: readonly Settlement[], totals: readonly DayTotal[]): void {
    for (const [index, { key, localDay }] of settlements.entries()) {
      const total = totals[index];
      if (total?.baseKnown) this.#lastSeen.note(key, localDay, total.usedTokens);
    }
  }

  #giveLocalBase(key: string): void {
    const seen = this.#lastSeen.get(key);
    if (seen !== undefined) this.#options.local.giveDayBase(key, seen.day, seen.usedTokens);
  }

  #beginOutage(thrown: unknown): void {
    if (this.#awaySinceMs !== undefined) return;
    this.#awaySinceMs = this.#options.clock.nowMs();
    // Of an earlier outage; what the store said since then is newer.
    this.#options.local.forgetDayTotals();
    this.#options.events.outageBegan(reasonOf(thrown));
    this.#planRecovery();
  }

  #planRecovery(): void {
    if (this.#recovery !== undefined || this.#closed) return;
    this.#recovery = setTimeout(() => void this.#recover(), this.#options.probeEveryMs ?? 250);
    this.#recovery.unref();
  }

  async #recover(): Promise<void> {
    if (await this.#isAnswering()) {
      await this.#tellPending();
      if (this.#awaySinceMs !== undefined) await this.#handOver();
      // Those that were settled while the store was told of the others.
      if (this.#awaySinceMs === undefined && this.#pending.size > 0) await this.#tellPending();
    }
    this.#recovery = undefined;
    if (this.#awaySinceMs !== undefined || this.#pending.size > 0) this.#planRecovery();
  }

  async #isAnswering(): Promise<boolean> {
    try {
      await this.#options.remote.probe();
      return true;
    } catch {
      return false;
    }
  }

  async #tellPending(): Promise<void> {
    await this.#pending.tell(async (settlements) => {
      const totals = await this.#options.remote.settleAll(settlements);
      this.#noteTotals(settlements, totals);
    });
    this.#options.events.settlesPending(this.#pending.size);
  }

  /** Tells the store what this process admitted in the last minute, while it still decides alone, and then the rest. */
  async #handOver(): Promise<void> {
    const beganMs = this.#options.clock.nowMs();
    const recordedLate: RecordedAdmissions[] = [];
    this.#recordedLate = recordedLate;
    try {
      await this.#tellAdmissions(Number.NEGATIVE_INFINITY);
    } catch {
      // Away again: it is asked again.
      return;
    } finally {
      this.#recordedLate = undefined;
    }
    this.#endOutage();
    this.#handingOver = this.#tellAdmissions(beganMs, recordedLate)
      .catch((thrown: unknown) => this.#beginOutage(thrown))
      .finally(() => {
        this.#handingOver = undefined;
      });
    await this.#handingOver;
    await this.#sayAlive();
  }

  async #tellAdmissions(fromMs: number, more: readonly RecordedAdmissions[] = []): Promise<void> {
    const { local, remote, events } = this.#options;
    // All of them now: the windows move on while the store is told.
    const admissions = [...local.admittedSince(fromMs), ...more];
    events.admissionsHandedOver(await handOverAdmissions(admissions, remote));
  }

  #endOutage(): void {
    if (this.#awaySinceMs === undefined) return;
    this.#options.events.outageEnded(this.#options.clock.nowMs() - this.#awaySinceMs);
    this.#awaySinceMs = undefined;
  }
}

/** A key, and what was admitted of it. */
type RecordedAdmissions = readonly [string, readonly RecordedAdmission[]];

/** As which limiters say that they live. */
const groupOfLimiters = 'limiter';
