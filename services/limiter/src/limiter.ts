import type { LimitStore } from '@gateway/limits';
import type { CounterTotals } from './ledger/counter-totals.ts';
import type { LimiterMetrics } from './metrics.ts';

/** The parts that the limiter's handlers use. */
export interface Limiter {
  readonly store: LimitStore;
  readonly totals: CounterTotals;
  readonly metrics: LimiterMetrics;
}
