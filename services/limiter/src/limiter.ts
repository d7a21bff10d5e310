import type { LimitStore } from '@gateway/limits';
import type { Clock } from '@gateway/time';
import type { CounterTotals } from './ledger/counter-totals.ts';
import type { LimiterMetrics } from './metrics.ts';

/** The parts that the limiter's handlers use. */
export interface Limiter {
  readonly store: LimitStore;
  readonly totals: CounterTotals;
  readonly clock: Clock;
  readonly metrics: LimiterMetrics;
}
