import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '@gateway/errors';
import { LastKnownPlace, type ReplicaPlace, replicaHeartbeatMs } from '@gateway/lifecycle/replica-share';
import type { LimitStatus } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type Client, RpcError } from '@gateway/rpc';
import type { Clock } from '@gateway/time';
import type { RequestEvents } from '../events.ts';
import type { Check, Decision, FallbackLimiter, OwnAdmission } from './fallback-limiter.ts';

export interface OutageTolerantLimiterOptions {
  readonly limiter: Pick<Client<typeof LimiterService>, 'admit' | 'heartbeat' | 'peek' | 'settle'>;
  /** Decides while the limiter does not answer. */
  readonly fallback: FallbackLimiter;
  readonly clock: Clock;
  readonly events: Pick<RequestEvents, 'limiterAway' | 'limiterBack' | 'admittedLocally' | 'faulted'>;
  /** Of one question, its repetition included. */
  readonly timeoutMs: number;
  /** What happens while the limiter is away: decide alone, or fail. */
  readonly failureMode: 'local' | 'closed';
  /** How long one outage may be bridged; then it fails as `closed`. */
  readonly localMaxMs: number;
  /** Pause between offers of charges that were not taken. Default: 1 s. */
  readonly retryMs?: number;
}

export interface Charge {
  /** The limiter's key of the token. */
  readonly key: string;
  readonly requestId: string;
  /** The day on which the request was admitted. */
  readonly localDay: string;
  readonly tokens: number;
}

interface Outage {
  readonly sinceMs: number;
  readonly over: PromiseWithResolvers<void>;
}

/**
 * The limiter as the edge asks it, which may go away. From the first question without an answer on, this edge decides alone, by its
 * share of each limit, until the limiter answers again and has what was admitted meanwhile; nothing else is asked before.
 *
 * How many edges there are it learns from heartbeats. An edge that has heard of no limiter since it started knows neither that nor what
 * went through it before: then it admits nothing that is limited.
 */
export class OutageTolerantLimiter implements AsyncDisposable {
  readonly #options: OutageTolerantLimiterOptions;
  readonly #replicaId = randomUUID();
  readonly #place = new LastKnownPlace();
  readonly #stop = new AbortController();
  #outage: Outage | undefined;
  #heartbeats: NodeJS.Timeout | undefined;
  #recovering: Promise<void> | undefined;
  /** While the limiter is handed over the last of what it does not know. */
  #handingOverRest: Promise<boolean> | undefined;

  /** Charges that the limiter has not taken, the oldest first. */
  readonly #uncharged: Charge[] = [];
  #charging: Promise<void> | undefined;

  constructor(options: OutageTolerantLimiterOptions) {
    this.#options = options;
  }

  start(): void {
    void this.#handOver();
    // In an outage the recovery says that this edge lives.
    this.#heartbeats = setInterval(() => this.#outage ?? void this.#handOver(), replicaHeartbeatMs).unref();
  }

  /** @throws GatewayError `internal_error` while neither the limiter nor this edge may decide. */
  async admit(check: Check): Promise<Decision> {
    await this.#handingOverRest;
    const decision = await this.#askUnlessAway(check);
    if (decision !== undefined) return decision;
    if (this.#place.current !== undefined) return this.#decideAlone(check);
    // It may not decide. The limiter may be just about to start: it is given as much time as for an answer.
    await Promise.race([this.#outage?.over.promise, sleep(this.#options.timeoutMs, undefined, { ref: false })]);
    return (await this.#askUnlessAway(check)) ?? this.#decideAlone(check);
  }

  /** Reads both limits. @throws GatewayError as `admit` does. */
  async peek(check: Pick<Check, 'key'> & Required<Pick<Check, 'limits'>>): Promise<LimitStatus | undefined> {
    const { limiter, fallback, timeoutMs } = this.#options;
    const answer = await this.#unlessAway(() => limiter.peek(check, { timeoutMs }));
    return answer === undefined ? fallback.peek(check, this.#placeForDeciding()) : answer.status;
  }

  /**
   * Charges a finished request to the day budget. Resolves when the next request sees that, or when it has to wait for the limiter: what
   * was not taken is offered again under the same id. Never rejects.
   */
  async charge(charge: Charge): Promise<void> {
    const { events, fallback } = this.#options;
    try {
      await this.#settle(charge);
    } catch (fault) {
      events.faulted('charge', fault, charge.requestId);
      fallback.noteUncharged(charge.key, charge.localDay, charge.tokens);
      if (this.#uncharged.length >= maxUncharged) this.#uncharged.shift();
      this.#uncharged.push(charge);
      this.#charging ??= this.#chargeRest().finally(() => {
        this.#charging = undefined;
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#heartbeats);
    this.#stop.abort();
    await Promise.all([this.#recovering, this.#charging]);
  }

  async #settle({ key, requestId, localDay, tokens }: Charge): Promise<void> {
    const { limiter, timeoutMs, fallback } = this.#options;
    const { usedTokens } = await limiter.settle({ key, requestId, localDay, tokens: BigInt(tokens) }, { timeoutMs });
    fallback.noteTotal(key, localDay, Number(usedTokens));
  }

  /** Offers the waiting charges in their order, after each failure again after a pause. */
  async #chargeRest(): Promise<void> {
    const { retryMs = 1_000, events } = this.#options;
    const { signal } = this.#stop;
    const pause = () => sleep(retryMs, undefined, { signal }).catch(() => undefined);
    await pause();
    for (let next = this.#uncharged[0]; next !== undefined && !signal.aborted; next = this.#uncharged[0]) {
      try {
        await this.#settle(next);
        // The oldest may have been dropped meanwhile.
        if (this.#uncharged[0] === next) this.#uncharged.shift();
      } catch (fault) {
        events.faulted('charge', fault, next.requestId);
        await pause();
      }
    }
  }

  async #askUnlessAway(check: Check): Promise<Decision | undefined> {
    const decision = await this.#unlessAway(() => this.#ask(check));
    if (decision !== undefined) this.#options.fallback.noteDecision(check, decision);
    return decision;
  }

  /** Undefined when the limiter is away, or turns out to be. */
  async #unlessAway<T>(call: () => Promise<T>): Promise<T | undefined> {
    if (this.#outage !== undefined) return undefined;
    try {
      return await call();
    } catch (thrown) {
      if (!(thrown instanceof RpcError)) throw thrown;
      this.#beginOutage(thrown);
      return undefined;
    }
  }

  /**
   * When the connection broke, another limiter may be behind the address: it is asked once more, in the time that is left. A repeated
   * admission takes no second slot.
   */
  async #ask(check: Check): Promise<Decision> {
    const { limiter, timeoutMs } = this.#options;
    const deadlineMs = performance.now() + timeoutMs;
    try {
      return await limiter.admit(check, { timeoutMs });
    } catch (thrown) {
      const leftMs = Math.floor(deadlineMs - performance.now());
      if (!(thrown instanceof RpcError) || thrown.status !== 'unavailable' || leftMs < 1) throw thrown;
      return await limiter.admit(check, { timeoutMs: leftMs });
    }
  }

  #decideAlone(check: Check): Decision {
    const place = this.#placeForDeciding();
    this.#options.events.admittedLocally();
    return this.#options.fallback.decide(check, place);
  }

  #placeForDeciding(): ReplicaPlace {
    const { clock, failureMode, localMaxMs } = this.#options;
    const awayMs = this.#outage === undefined ? 0 : clock.nowMs() - this.#outage.sinceMs;
    const place = this.#place.current;
    if (failureMode === 'closed' || awayMs > localMaxMs || place === undefined) {
      throw new GatewayError('internal_error', 'Limits can not be checked at the moment.');
    }
    return place;
  }

  #beginOutage(fault: RpcError): void {
    if (this.#outage !== undefined) return;
    this.#outage = { sinceMs: this.#options.clock.nowMs(), over: Promise.withResolvers<void>() };
    this.#options.events.limiterAway(fault);
    this.#recovering = this.#recover(this.#outage);
  }

  async #recover({ sinceMs, over }: Outage): Promise<void> {
    const { clock, events } = this.#options;
    const { signal } = this.#stop;
    for (let isBack = false; !isBack; ) {
      if (await this.#handOver()) {
        // Also what was admitted meanwhile. Others wait for this.
        this.#handingOverRest = this.#handOver();
        isBack = await this.#handingOverRest;
        this.#handingOverRest = undefined;
      }
      if (signal.aborted) return;
      if (!isBack) await sleep(probeEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    events.limiterBack(clock.nowMs() - sinceMs);
    this.#outage = undefined;
    over.resolve();
  }

  /** Says that this edge lives, and what it admitted alone until now. False when the limiter is away. */
  async #handOver(): Promise<boolean> {
    const waiting = this.#options.fallback.notHandedOver;
    for (let start = 0; start === 0 || start < waiting.length; start += mostInOneHeartbeat) {
      if (!(await this.#heartbeat(waiting.slice(start, start + mostInOneHeartbeat)))) return false;
    }
    return true;
  }

  async #heartbeat(own: readonly OwnAdmission[]): Promise<boolean> {
    const { limiter, fallback, clock, timeoutMs } = this.#options;
    const nowMs = clock.nowMs();
    const admissions = own.map(({ key, requestId, atMs }) => ({ key, requestId, ageMs: Math.max(0, nowMs - atMs) }));
    const request = { group: 'edge', replicaId: this.#replicaId, admissions };
    try {
      const { replicas, position } = await limiter.heartbeat(request, { timeoutMs, signal: this.#stop.signal });
      if (replicas !== undefined) this.#place.note({ replicas, position }, clock.nowMs());
    } catch (thrown) {
      // One that answers with an error is there: this must not keep the edge from asking it.
      if (thrown instanceof RpcError && thrown.status !== 'internal') return false;
    }
    fallback.noteHandedOver(own);
    return true;
  }
}

/** How often a limiter that is away is asked. */
const probeEveryMs = 50;
const mostInOneHeartbeat = 1_000;
/** Beyond this the oldest are dropped: the limiter reloads its counters from the ledger when it lost them. */
const maxUncharged = 100_000;
