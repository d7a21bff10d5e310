import { GatewayError } from '@gateway/errors';
import type { ServiceRuntime } from '@gateway/lifecycle';
import { type Heartbeat, type LimitStore, replicaHeartbeatMs, replicaSilenceMs } from '@gateway/limits';
import { type Logger, outsideTraces } from '@gateway/telemetry';
import { cancelTimer, monotonicMs, randomId, startTimer, type Timer } from '@gateway/time';
import type { StandAloneLimiterConfig } from '../config.ts';
import { createLimiterMetrics, type LimiterMetrics, reasonOf } from '../metrics.ts';
import { RedisLimitStore } from './redis-limit-store.ts';

export function openSharedLimitStore(
  { redis: settings }: Pick<StandAloneLimiterConfig, 'redis'>,
  { logger, metrics }: ServiceRuntime,
  resources: AsyncDisposableStack,
): LimitStore {
  const redis = resources.use(new RedisLimitStore({ settings, logger, metrics }));
  const store = new SharedLimitStore(redis, { logger, metrics });
  redis.onReconnected(() => store.noteReconnected());
  return resources.use(store);
}

/**
 * The store that limiters share: Redis. It is away from a call that fails until a heartbeat
 * succeeds. Meanwhile all other calls fail at once with a time to wait. In a cluster, one master
 * may be away and the others not: an outage is over when no call has failed for a while.
 */
export class SharedLimitStore implements LimitStore, Disposable {
  readonly admit = this.#asking('admit');
  readonly reserve = this.#asking('reserve');
  readonly settle = this.#asking('settle');
  readonly renew = this.#asking('renew');
  readonly pendingIds = this.#asking('pendingIds');
  readonly reload = this.#asking('reload');
  readonly raise = this.#asking('raise');
  readonly #redis: LimitStore;
  readonly #logger: Logger;
  readonly #metrics: LimiterMetrics;
  readonly #replicaId = randomId();
  #wasReached = false;
  #isFailing = false;
  #outage: { readonly sinceMs: number; readonly lastFailedMs: number } | undefined;
  #beat: Timer | undefined;
  #isClosed = false;
  #reconnectedAtMs = Number.NEGATIVE_INFINITY;
  /** By replica: the answer, by the clock of Redis, that told it of the last reconnection. */
  readonly #toldAtMs = new Map<string, number>();

  constructor(redis: LimitStore, { logger, metrics }: ServiceRuntime) {
    this.#redis = redis;
    this.#logger = logger;
    this.#metrics = createLimiterMetrics(metrics);
  }

  /** Connects. A Redis that is not reachable yet is an outage. */
  async start(): Promise<void> {
    await this.#redis.start?.().catch((thrown: unknown) => this.#noteFailure(thrown));
    await this.#sayAlive();
  }

  get isAway(): boolean {
    return this.#outage !== undefined;
  }

  notReady(): string | undefined {
    return this.#wasReached ? undefined : 'the shared store has not been reached yet';
  }

  /** Redis may have lost its latest writes. */
  noteReconnected(): void {
    this.#reconnectedAtMs = monotonicMs();
    this.#toldAtMs.clear();
  }

  get mayLackTotals(): boolean {
    return monotonicMs() - this.#reconnectedAtMs < replicaSilenceMs;
  }

  async heartbeat(beat: Heartbeat) {
    // It writes: a Redis without memory still answers what only reads.
    const place = await this.#attempt(() => this.#redis.heartbeat(beat));
    this.#isFailing = false;
    this.#wasReached = true;
    return place && { ...place, isNew: place.isNew === true || this.#isUntold(beat, place.answeredAtMs) };
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    cancelTimer(this.#beat);
  }

  #asking<Name extends 'admit' | 'reserve' | 'settle' | 'renew' | 'pendingIds' | 'reload' | 'raise'>(name: Name) {
    const ask = async (...given: readonly unknown[]) => {
      if (this.#isFailing) throw redisIsAway();
      return this.#attempt(() => Reflect.apply(this.#redis[name], this.#redis, given));
    };
    // It takes and answers what the store's method does.
    return ask as LimitStore[Name];
  }

  async #attempt<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (thrown) {
      this.#noteFailure(thrown);
      throw redisIsAway(thrown);
    }
  }

  /** Whether it has not heard of the last reconnection. After a longer silence, Redis says so. */
  #isUntold({ group, replicaId, lastAnsweredAtMs = 0 }: Heartbeat, answeredAtMs = 0): boolean {
    if (!this.mayLackTotals) return false;
    const replica = JSON.stringify([group, replicaId]);
    const toldAtMs = this.#toldAtMs.get(replica) ?? Infinity;
    this.#toldAtMs.getOrInsert(replica, answeredAtMs);
    return lastAnsweredAtMs < toldAtMs;
  }

  /** Finds the beginning and the end of an outage without calls. */
  async #sayAlive(): Promise<void> {
    await this.heartbeat({ group: 'limiter', replicaId: this.#replicaId, admissions: [] }).catch(() => undefined);
    const { sinceMs = 0, lastFailedMs = Infinity } = this.#outage ?? {};
    if (monotonicMs() - lastFailedMs >= calmMs) {
      this.#outage = undefined;
      this.#metrics.storeAway.set(0);
      this.#logger.info({ outage_ms: Math.round(lastFailedMs - sinceMs) }, 'Redis answers again');
    }
    this.#planBeat(this.isAway ? probeEveryMs : replicaHeartbeatMs);
  }

  #planBeat(afterMs: number): void {
    cancelTimer(this.#beat);
    if (!this.#isClosed) this.#beat = outsideTraces(() => startTimer(() => void this.#sayAlive(), afterMs)).unref();
  }

  #noteFailure(thrown: unknown): void {
    if (this.#isClosed) return;
    this.#isFailing = true;
    const nowMs = monotonicMs();
    if (this.#outage === undefined) {
      this.#metrics.outages.inc();
      this.#metrics.storeAway.set(1);
      this.#logger.warn({ reason: reasonOf(thrown) }, 'Redis does not answer; callers decide for themselves');
      this.#planBeat(probeEveryMs);
    }
    this.#outage = { sinceMs: nowMs, ...this.#outage, lastFailedMs: nowMs };
  }
}

const probeEveryMs = 250;
const calmMs = 500;

function redisIsAway(cause?: unknown): GatewayError {
  return new GatewayError('providers_unavailable', 'Redis does not answer. Try again.', { cause, retryAfterMs: 1_000 });
}
