import type { Metrics } from '@gateway/telemetry';

export type IngestMetrics = ReturnType<typeof createIngestMetrics>;

/** What operators can observe of the way into the ledger. */
export function createIngestMetrics(metrics: Metrics) {
  const events = metrics.counter({
    name: 'gateway_usage_events_total',
    help: 'Request records with usage at the ledger: recorded, repeated (already recorded) or dead_letter.',
    labels: ['result'],
  });
  for (const result of ['recorded', 'repeated', 'dead_letter']) events.inc({ result }, 0);
  return {
    events,
    refusedLogs: metrics.counter({
      name: 'gateway_usage_request_log_refused_total',
      help: 'Entries of the request log that the database rejected.',
    }),
    batchFailures: metrics.counter({
      name: 'gateway_usage_batch_failures_total',
      help: 'Batches of usage messages that could not be stored and will be redelivered.',
    }),
    eventAges: metrics.histogram({
      name: 'gateway_usage_event_age_seconds',
      help: 'Time from the end of a request to its row in the ledger.',
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600],
    }),
    backlog: metrics.gauge({
      name: 'gateway_usage_backlog_messages',
      help: 'Usage messages in the stream that are not delivered yet.',
    }),
    ackPending: metrics.gauge({
      name: 'gateway_usage_ack_pending_messages',
      help: 'Usage messages that are delivered but not acknowledged yet.',
    }),
    lag: metrics.gauge({
      name: 'gateway_ledger_lag_seconds',
      help: 'Age of the oldest usage message in the stream that is not recorded yet; 0 when all are.',
    }),
    removedDays: metrics.counter({
      name: 'gateway_usage_days_removed_total',
      help: 'Local days whose expired events were removed.',
    }),
    removedEvents: metrics.counter({
      name: 'gateway_usage_events_removed_total',
      help: 'Expired events that were removed; an estimate on Postgres.',
    }),
    retentionFailures: metrics.counter({
      name: 'gateway_usage_retention_failures_total',
      help: 'Failures to create partitions for the next days, or to remove expired ones.',
    }),
  };
}
