import { limitNames } from '@gateway/errors';
import type { Metrics } from '@gateway/telemetry';

export type LimiterMetrics = ReturnType<typeof createLimiterMetrics>;

/** Events in the limiter that operators can observe. */
export function createLimiterMetrics(metrics: Metrics) {
  const decisions = metrics.counter({
    name: 'gateway_limiter_decisions_total',
    help: 'Admission decisions: admitted, or the limit that rejected the request.',
    labels: ['decision'],
  });
  for (const decision of ['admitted', ...limitNames]) decisions.inc({ decision }, 0);
  const missingTotals = metrics.counter({
    name: 'gateway_limiter_missing_totals_total',
    help: 'Totals that the store had lost while the ledger did not answer, by what they continued from: last_known, from_zero, or refused for a budget.',
    labels: ['continued'],
  });
  for (const continued of ['last_known', 'from_zero', 'refused']) missingTotals.inc({ continued }, 0);
  return {
    decisions,
    outages: metrics.counter({
      name: 'gateway_limiter_store_outages_total',
      help: 'Outages of the shared store.',
    }),
    storeAway: metrics.gauge({
      name: 'gateway_limiter_store_away',
      help: '1 while the shared store is unreachable, else 0.',
    }),
    loadFailures: metrics.counter({
      name: 'gateway_limiter_day_total_load_failures_total',
      help: 'Failed loads of totals of days and budgets from the usage ledger.',
    }),
    missingTotals,
    corrections: metrics.counter({
      name: 'gateway_limiter_day_corrections_total',
      help: 'Counters of days and budgets that differed from the usage ledger and were corrected.',
    }),
    admissionsNotKept: metrics.counter({
      name: 'gateway_limiter_admissions_not_kept_total',
      help: 'Admissions that the embedded limiter could not store. A restart within a minute loses them.',
    }),
  };
}

/**
 * Why a call failed, for the log. Only the message, because a driver's error also contains the
 * command, with keys or a password.
 */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error && thrown.message !== '' ? thrown.message : String(thrown);
}
