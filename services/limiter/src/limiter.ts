import type { LimitStore } from '@gateway/limits';
import type { Clock } from '@gateway/time';
import type { DayTotals } from './ledger/day-totals.ts';
import type { LimiterMetrics } from './metrics.ts';

/** What the handlers of the limiter work with. */
export interface Limiter {
  readonly store: LimitStore;
  readonly dayTotals: DayTotals;
  readonly clock: Clock;
  readonly metrics: LimiterMetrics;
}
