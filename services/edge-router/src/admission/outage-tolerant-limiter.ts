import { randomUUID } from 'node:crypto';
import { GatewayError } from '@gateway/errors';
import { LastKnownPlace, type ReplicaPlace, replicaHeartbeatMs } from '@gateway/lifecycle/replica-share';
import type { LimitStatus } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type Client, RpcError } from '@gateway/rpc';
import type { Clock } from '@gateway/time';
import type { Check, Decision, FallbackLimiter, OwnAdmission } from './fallback-limiter.ts';

export interface OutageTolerantLimiterOptions {
  readonly limiter: Pick<Client<typeof LimiterService>, 'admit' | 'heartbeat' | 'peek'>;
  /** Decides while the limiter does not answer. */
  readonly fallback: FallbackLimiter;
  readonly clock: Clock;
  readonly events: OutageEvents;
  /** Of one question, its repetition included. */
  readonly timeoutMs: number;
  /** What happens while the limiter is away: decide alone, or fail. */
  readonly failureMode: 'local' | 'closed';
  /** How long one outage may be bridged; then it fails as `closed`. */
  readonly localMaxMs: number;
  /** How often a limiter that is away is asked. */
  readonly probeEveryMs?: number;
}

export interface OutageEvents {
  readonly limiterAway: (fault: unknown) => void;
  readonly limiterBack: (awayMs: number) => void;
  /** This edge decided alone. */
  readonly admittedLocally: () => void;
}

/**
 * The limiter as the edge asks it, which may go away. From the first question without an answer on, this edge decides alone, by its share
 * of each limit, until the limiter answers again and was handed over what was admitted meanwhile; nothing else is asked before.
 *
 * How many edges there are it learns from heartbeats. An edge that has heard of no limiter since it started knows neither that nor what
 * went through it before: then it admits nothing that is limited.
 */
export class OutageTolerantLimiter implements AsyncDisposable {
  readonly #options: OutageTolerantLimiterOptions;
  readonly #replicaId = randomUUID();
  readonly #place = new LastKnownPlace();
  readonly #stop = new AbortController();
  #awaySinceMs: number | undefined;
  /** Resolves when the outage is over. */
  #back = Promise.withResolvers<void>();
  #heartbeats: NodeJS.Timeout | undefined;
  #recovering: Promise<void> | undefined;
  #nextProbe: NodeJS.Timeout | undefined;
  /** The last of what the limiter is handed over. */
  #handingOverRest: Promise<boolean> | undefined;

  constructor(options: OutageTolerantLimiterOptions) {
    this.#options = options;
  }

  start(): void {
    this.#sayAlive();
    this.#heartbeats = setInterval(() => this.#sayAlive(), replicaHeartbeatMs).unref();
  }

  /** @throws GatewayError `internal_error` while neither the limiter nor this edge may decide. */
  async admit(check: Check): Promise<Decision> {
    await this.#handingOverRest;
    const decision = await this.#askUnlessAway(check);
    if (decision !== undefined) return decision;
    if (this.#place.current !== undefined) return this.#decideAlone(check);
    // It may not decide. The limiter may be just about to start: it is given as much time as for an answer.
    await this.#untilBack();
    return (await this.#askUnlessAway(check)) ?? this.#decideAlone(check);
  }

  /** Reads both limits. @throws GatewayError as `admit` does. */
  async peek({ key, limits }: Pick<Check, 'key' | 'limits'>): Promise<LimitStatus | undefined> {
    const { limiter, fallback, timeoutMs } = this.#options;
    if (this.#awaySinceMs !== undefined) return fallback.peek({ key, limits }, this.#placeForDeciding());
    try {
      return (await limiter.peek({ key, limits }, { timeoutMs })).status;
    } catch (thrown) {
      if (!(thrown instanceof RpcError)) throw thrown;
      this.#beginOutage(thrown);
      return fallback.peek({ key, limits }, this.#placeForDeciding());
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#heartbeats);
    clearTimeout(this.#nextProbe);
    this.#stop.abort();
    await this.#recovering;
  }

  /** Undefined when the limiter is away, or turns out to be. */
  async #askUnlessAway(check: Check): Promise<Decision | undefined> {
    if (this.#awaySinceMs !== undefined) return undefined;
    try {
      const decision = await this.#ask(check);
      this.#options.fallback.noteDecision(check, decision);
      return decision;
    } catch (thrown) {
      if (!(thrown instanceof RpcError)) throw thrown;
      this.#beginOutage(thrown);
      return undefined;
    }
  }

  async #untilBack(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, this.#options.timeoutMs);
    await Promise.race([this.#back.promise, late.promise]);
    clearTimeout(timer);
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
    const awayMs = clock.nowMs() - (this.#awaySinceMs ?? clock.nowMs());
    const place = this.#place.current;
    if (failureMode === 'closed' || awayMs > localMaxMs || place === undefined) {
      throw new GatewayError('internal_error', 'Limits can not be checked at the moment.');
    }
    return place;
  }

  #beginOutage(fault: RpcError): void {
    if (this.#awaySinceMs !== undefined) return;
    this.#awaySinceMs = this.#options.clock.nowMs();
    this.#back = Promise.withResolvers<void>();
    this.#options.events.limiterAway(fault);
    this.#recovering = this.#recover();
  }

  async #recover(): Promise<void> {
    if (await this.#handOver()) {
      // What was admitted while the limiter was handed over the rest. Others wait for it.
      this.#handingOverRest = this.#handOver();
      if (await this.#handingOverRest) this.#endOutage();
      this.#handingOverRest = undefined;
    }
    if (this.#awaySinceMs === undefined || this.#stop.signal.aborted) return;
    this.#nextProbe = setTimeout(() => {
      this.#recovering = this.#recover();
    }, this.#options.probeEveryMs ?? 50).unref();
  }

  #endOutage(): void {
    const { clock, events } = this.#options;
    if (this.#awaySinceMs !== undefined) events.limiterBack(clock.nowMs() - this.#awaySinceMs);
    this.#awaySinceMs = undefined;
    this.#back.resolve();
  }

  /** In an outage the recovery does it. */
  #sayAlive(): void {
    if (this.#awaySinceMs === undefined) void this.#handOver();
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

const mostInOneHeartbeat = 1_000;
