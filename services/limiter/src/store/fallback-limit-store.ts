import { GatewayError } from '@gateway/errors';
import type { ServiceRuntime } from '@gateway/lifecycle';
import {
  type CounterName,
  FallbackLimits,
  type KnownTotal,
  type LedgerTotal,
  type LimitStore,
  type ReloadedCounter,
  type Settlement,
} from '@gateway/limits';
import type { Logger } from '@gateway/telemetry';
import type { LimiterConfig, StandAloneLimiterConfig } from '../config.ts';
import { createLimiterMetrics, type LimiterMetrics, reasonOf } from '../metrics.ts';
import { RedisLimitStore } from './redis-limit-store.ts';

/**
 * The store that limiters share: Redis, with local windows for its outages. Closing the resources
 * replays pending settles.
 */
export function openSharedLimitStore(
  config: StandAloneLimiterConfig,
  { logger, metrics }: ServiceRuntime,
  resources: AsyncDisposableStack,
): LimitStore {
  const { redis: settings } = config;
  const remote = resources.use(new RedisLimitStore({ settings, logger, metrics }));
  const parts = { remote, metrics: createLimiterMetrics(metrics), logger };
  const store = resources.use(new FallbackLimitStore({ ...parts, ...config, maxKept: config.memoryMaxKeys }));
  remote.onReconnected(() => void store.remind());
  return store;
}

export interface FallbackLimitStoreOptions extends Pick<LimiterConfig, 'failureMode' | 'localMaxMs' | 'leastReplicas'> {
  readonly remote: LimitStore;
  readonly metrics: LimiterMetrics;
  readonly logger: Logger;
  /** How many keys, admissions and settles are kept for an outage. */
  readonly maxKept: number;
}

/** A shared store that may become unreachable. */
export class FallbackLimitStore extends FallbackLimits<LimitStore> implements LimitStore {
  #onLateSettle: (settlement: Settlement) => void = () => undefined;

  constructor({ metrics, logger, maxKept, ...options }: FallbackLimitStoreOptions) {
    super({
      ...options,
      group: 'limiter',
      maxKeys: maxKept,
      maxKept,
      probeEveryMs: 250,
      mayForget: true,
      isOutage: () => true,
      events: {
        away(thrown) {
          metrics.outages.inc();
          metrics.storeAway.set(1);
          logger.warn({ reason: reasonOf(thrown) }, 'Redis does not answer; using in-memory limits');
        },
        back(durationMs, handedOver) {
          metrics.storeAway.set(0);
          metrics.handedOver.inc(handedOver);
          logger.info({ outage_ms: durationMs }, 'Redis answers again');
        },
        decidedAlone: () => metrics.degraded.inc(),
        settlesWaiting: (count) => metrics.pendingSettles.set(count),
        settleDropped: () => metrics.droppedSettles.inc(),
        settleReplayed: (settlement) => this.#onLateSettle(settlement),
      },
    });
  }

  onLateSettle(listener: (settlement: Settlement) => void): void {
    this.#onLateSettle = listener;
  }

  raise(known: readonly KnownTotal[]): Promise<void> {
    return this.ask(
      () => this.local.raise(known),
      () => this.remote.raise(known),
    );
  }

  /** The base, if Redis has lost its total and the ledger does not answer. */
  knownTotal(counter: CounterName): number | undefined {
    return this.local.knownTotals([counter])[0]?.total;
  }

  /**
   * Only shared counters are reloaded repeatedly. Those of an outage end with it, and are loaded
   * once.
   */
  pendingIds(counter: CounterName, pauseMs: number): Promise<readonly string[] | undefined> {
    const alone = async () => (pauseMs === 0 ? this.local.pendingIds(counter) : undefined);
    return this.ask(alone, () => this.remote.pendingIds(counter, pauseMs));
  }

  reload(counter: CounterName, total: LedgerTotal): Promise<ReloadedCounter> {
    const alone = () => {
      // An operator's correction applies to the shared counter.
      if (total.force) throw new GatewayError('internal_error', 'The shared store is unreachable.');
      return this.local.reload(counter, total);
    };
    return this.ask(alone, () => this.remote.reload(counter, total));
  }
}
