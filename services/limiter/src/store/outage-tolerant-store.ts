import { GatewayError } from '@gateway/errors';
import type { Clock, LocalDay } from '@gateway/time';
import type { LimiterEvents } from '../limiter-events.ts';
import { dayForgottenAtMs } from '../windows/day-budget.ts';
import type { LimitStatus } from '../windows/limit-status.ts';
import { BoundedMap } from './bounded-map.ts';
import { reasonOf } from './failure-reason.ts';
import type { AdmitCheck, DayTotal, KeyQuestion, LimitStore, Settlement } from './limit-store.ts';
import type { MemoryLimitStore } from './memory-limit-store.ts';
import { PendingSettles } from './pending-settles.ts';

/** A store that can be away, and be asked whether it still is. */
export interface RemoteLimitStore extends LimitStore {
  /** Fails while the store is away. */
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
 * The local windows outlive an outage: a store that comes and goes does not open a fresh window each time.
 */
export class OutageTolerantStore implements LimitStore, AsyncDisposable {
  readonly #options: OutageTolerantStoreOptions;
  readonly #lastSeen: BoundedMap<SeenTotal>;
  readonly #pending: PendingSettles;
  #awaySinceMs: number | undefined;
  #wasReached = false;
  #recovery: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: OutageTolerantStoreOptions) {
    this.#options = options;
    this.#lastSeen = new BoundedMap({
      maxEntries: options.maxKept,
      isIdle: ({ day }, nowMs) => dayForgottenAtMs(day) <= nowMs,
    });
    this.#pending = new PendingSettles(options.maxKept, options.events.settleDropped);
  }

  /** Connects. A store that is not there yet is an outage, not a failure: it is asked again until it answers. */
  async start(): Promise<void> {
    try {
      await this.#options.remote.start?.();
      this.#wasReached = true;
    } catch (thrown) {
      this.#beginOutage(thrown);
    }
  }

  notReady(): string | undefined {
    if (this.#awaySinceMs === undefined) return undefined;
    // Each of several limiters with a wrong address would admit the whole limit by itself: none may start so.
    if (!this.#wasReached) return 'the shared store has not been reached yet';
    return this.#mayDecideLocally() ? undefined : 'the shared store is away';
  }

  async admit(check: AdmitCheck): ReturnType<LimitStore['admit']> {
    const decision = await this.#decide(check.key, (store) => store.admit(check));
    if (decision.kind !== 'day_base_unknown') this.#noteStatus(check.key, decision.status);
    return decision;
  }

  async peek(question: KeyQuestion): ReturnType<LimitStore['peek']> {
    const answer = await this.#decide(question.key, (store) => store.peek(question));
    if (answer.kind !== 'day_base_unknown') this.#noteStatus(question.key, answer.status);
    return answer;
  }

  async settle(settlement: Settlement): Promise<DayTotal> {
    const { key, localDay } = settlement;
    const told = await this.#tryRemote((store) => store.settle(settlement));
    if (told !== undefined) {
      if (told.baseKnown) this.#noteTotal(key, localDay, told.usedTokens);
      return told;
    }
    this.#pending.add(settlement);
    this.#options.events.settlesPending(this.#pending.size);
    this.#planRecovery();
    await this.#giveLocalBase(key);
    return this.#options.local.settle(settlement);
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

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#recovery);
    if (this.#pending.size > 0) await this.#tellPending();
  }

  /** The remote store's answer, else the local one, marked as degraded. */
  async #decide<T extends { readonly kind: string; readonly status?: LimitStatus }>(
    key: string,
    ask: (store: LimitStore) => Promise<T>,
  ): Promise<T> {
    const answer = await this.#tryRemote(ask);
    if (answer !== undefined) return answer;
    if (!this.#mayDecideLocally()) throw new GatewayError('internal_error', 'Limits can not be checked at the moment.');
    await this.#giveLocalBase(key);
    this.#options.events.degraded();
    const local = await ask(this.#options.local);
    return local.status === undefined ? local : { ...local, status: { ...local.status, degraded: true } };
  }

  /** Undefined when the remote store is away, or turns out to be. */
  async #tryRemote<T>(ask: (store: LimitStore) => Promise<T>): Promise<T | undefined> {
    if (this.#awaySinceMs !== undefined) return undefined;
    try {
      const answer = await ask(this.#options.remote);
      this.#wasReached = true;
      return answer;
    } catch (thrown) {
      this.#beginOutage(thrown);
      return undefined;
    }
  }

  #mayDecideLocally(): boolean {
    const { failureMode, localMaxMs, clock } = this.#options;
    return failureMode === 'local' && clock.nowMs() - (this.#awaySinceMs ?? Infinity) <= localMaxMs;
  }

  #noteStatus(key: string, { tokens, localDay, degraded }: LimitStatus): void {
    if (tokens !== undefined && !degraded) this.#noteTotal(key, localDay, tokens.limit - tokens.remaining);
  }

  /** Totals only grow within a day, and answers may overtake each other. */
  #noteTotal(key: string, day: LocalDay, usedTokens: number): void {
    this.#lastSeen.forgetIdle(this.#options.clock.nowMs());
    const seen = this.#lastSeen.get(key);
    if (seen === undefined || seen.day < day || (seen.day === day && seen.usedTokens < usedTokens)) {
      this.#lastSeen.set(key, { day, usedTokens });
    }
  }

  async #giveLocalBase(key: string): Promise<void> {
    const seen = this.#lastSeen.get(key);
    if (seen !== undefined) await this.#options.local.rememberDayBase(key, seen.day, seen.usedTokens);
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
      this.#endOutage();
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
    await this.#pending.tell((settlement) => this.#options.remote.settle(settlement));
    this.#options.events.settlesPending(this.#pending.size);
  }

  #endOutage(): void {
    this.#wasReached = true;
    if (this.#awaySinceMs === undefined) return;
    this.#options.events.outageEnded(this.#options.clock.nowMs() - this.#awaySinceMs);
    this.#awaySinceMs = undefined;
  }
}

interface SeenTotal {
  readonly day: LocalDay;
  readonly usedTokens: number;
}
