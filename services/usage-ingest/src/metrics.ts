import { durationBucketsSeconds, type Metrics } from '@gateway/telemetry';

export type IngestMetrics = ReturnType<typeof createIngestMetrics>;

/** What happens on the way into the ledger that operators want to see. */
export function createIngestMetrics(metrics: Metrics) {
  return {
    events: metrics.counter({
      name: 'gateway_usage_events_total',
      help: 'Usage events that arrived at the ledger: recorded, repeated (already there) or dead_letter.',
      labels: ['result'],
    }),
    refusedLogs: metrics.counter({
      name: 'gateway_usage_request_log_refused_total',
      help: 'Entries of the request log that the database did not take.',
    }),
    batchFailures: metrics.counter({
      name: 'gateway_usage_batch_failures_total',
      help: 'Batches of usage messages that could not be stored and will come again.',
    }),
    batchDurations: metrics.histogram({
      name: 'gateway_usage_batch_duration_seconds',
      help: 'Time to store one batch of usage messages.',
      buckets: durationBucketsSeconds,
    }),
    backlog: metrics.gauge({
      name: 'gateway_usage_backlog_messages',
      help: 'Usage messages in the stream that were not delivered yet.',
    }),
    removedDays: metrics.counter({
      name: 'gateway_usage_days_removed_total',
      help: 'Local days whose events were removed, because they are no longer kept.',
    }),
    removedEvents: metrics.counter({
      name: 'gateway_usage_events_removed_total',
      help: 'Events that were removed with their days; on Postgres an estimate.',
    }),
    retentionFailures: metrics.counter({
      name: 'gateway_usage_retention_failures_total',
      help: 'Attempts to make room for coming days, or to remove old ones, that failed.',
    }),
  };
}
