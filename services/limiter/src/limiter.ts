import type { LimitStore } from '@gateway/limits';
import type { Clock } from '@gateway/time';
import type { DayTotals } from './ledger/day-totals.ts';
import type { LimiterMetrics } from './metrics.ts';

/** The parts that the limiter's handlers use. */
export interface Limiter {
  readonly store: LimitStore;
  readonly dayTotals: DayTotals;
  readonly clock: Clock;
  readonly metrics: LimiterMetrics;
}
