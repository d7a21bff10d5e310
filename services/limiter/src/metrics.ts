import type { Metrics } from '@gateway/telemetry';

export type LimiterMetrics = ReturnType<typeof createLimiterMetrics>;

/** Events in the limiter that operators can observe. */
export function createLimiterMetrics(metrics: Metrics) {
  const decisions = metrics.counter({
    name: 'gateway_limiter_decisions_total',
    help: 'Requests decided, by decision: admitted, or the limit that refused.',
    labels: ['decision'],
  });
  for (const decision of ['admitted', 'requests_per_minute', 'tokens_per_day']) decisions.inc({ decision }, 0);
  return {
    decisions,
    degraded: metrics.counter({
      name: 'gateway_limiter_degraded_total',
      help: 'Decisions made from local windows because the shared store could not be asked.',
    }),
    outages: metrics.counter({
      name: 'gateway_limiter_store_outages_total',
      help: 'Times that the shared store stopped answering.',
    }),
    storeAway: metrics.gauge({
      name: 'gateway_limiter_store_away',
      help: '1 while the shared store does not answer, else 0.',
    }),
    handedOver: metrics.counter({
      name: 'gateway_limiter_handed_over_admissions_total',
      help: 'Admissions of the last minute that the shared store was given when it answered again.',
    }),
    pendingSettles: metrics.gauge({
      name: 'gateway_limiter_pending_settles',
      help: 'Settles kept until the shared store answers again.',
    }),
    droppedSettles: metrics.counter({
      name: 'gateway_limiter_dropped_settles_total',
      help: 'Settles given up because too many were pending: the day budget is short of them until it is reloaded.',
    }),
    loadFailures: metrics.counter({
      name: 'gateway_limiter_day_total_load_failures_total',
      help: 'Day totals that could not be loaded from the usage ledger.',
    }),
    corrections: metrics.counter({
      name: 'gateway_limiter_day_corrections_total',
      help: 'Day counters that differed from the usage ledger and were put right.',
    }),
    admissionsNotKept: metrics.counter({
      name: 'gateway_limiter_admissions_not_kept_total',
      help: 'Admissions that could not be written to the file of the embedded limiter: a restart within a minute forgets them.',
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
