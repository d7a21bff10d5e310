import type { RemovedDays } from '@gateway/database';
import type { ServiceRuntime } from '@gateway/lifecycle';
import { durationBucketsSeconds } from '@gateway/telemetry';

/** What operators learn of the way into the ledger. */
export interface IngestEvents {
  recorded(fresh: number, repeated: number): void;
  /** Log entries that the database does not take. They are dropped. */
  logsRefused(count: number, thrown: unknown): void;
  /** Something can't be understood and was put aside. */
  buried(deadLetterId: string, reason: string): void;
  /** One batch of messages was stored and acknowledged. */
  batchStored(durationSeconds: number): void;
  /** Messages were given back, to come again. */
  batchFailed(messages: number, thrown: unknown): void;
  /** Messages in the stream that were not delivered yet. */
  backlog(messages: number): void;
  /** Stored messages were removed from the stream, to make room. */
  trimmed(messages: number): void;
  /** The stream or its consumer could not be worked with. */
  consumerFailed(thrown: unknown): void;
  /** Days whose events are no longer kept were removed with them. */
  daysRemoved(removed: RemovedDays): void;
  /** Room for coming days could not be made, or old days not be removed. */
  retentionFailed(thrown: unknown): void;
}

export function createIngestEvents({ logger, metrics }: ServiceRuntime): IngestEvents {
  const events = metrics.counter({
    name: 'gateway_usage_events_total',
    help: 'Usage events that arrived at the ledger: recorded, repeated (already there) or dead_letter.',
    labels: ['result'],
  });
  const refusedLogs = metrics.counter({
    name: 'gateway_usage_request_log_refused_total',
    help: 'Entries of the request log that the database did not take.',
  });
  const failures = metrics.counter({
    name: 'gateway_usage_batch_failures_total',
    help: 'Batches of usage messages that could not be stored and will come again.',
  });
  const durations = metrics.histogram({
    name: 'gateway_usage_batch_duration_seconds',
    help: 'Time to store one batch of usage messages.',
    buckets: durationBucketsSeconds,
  });
  const backlog = metrics.gauge({
    name: 'gateway_usage_backlog_messages',
    help: 'Usage messages in the stream that were not delivered yet.',
  });
  const removedDays = metrics.counter({
    name: 'gateway_usage_days_removed_total',
    help: 'Local days whose events were removed, because they are no longer kept.',
  });
  const removedEvents = metrics.counter({
    name: 'gateway_usage_events_removed_total',
    help: 'Events that were removed with their days; on Postgres an estimate.',
  });
  const retentionFailures = metrics.counter({
    name: 'gateway_usage_retention_failures_total',
    help: 'Attempts to make room for coming days, or to remove old ones, that failed.',
  });

  return {
    recorded(fresh, repeated) {
      events.inc({ result: 'recorded' }, fresh);
      events.inc({ result: 'repeated' }, repeated);
    },
    logsRefused(count, thrown) {
      refusedLogs.inc(count);
      logger.error({ count, err: thrown }, 'the database refuses entries of the request log; they are dropped');
    },
    buried(deadLetterId, reason) {
      events.inc({ result: 'dead_letter' });
      logger.error({ deadLetterId, reason }, 'usage that can not be recorded was put in dead_letters');
    },
    batchStored: (durationSeconds) => durations.observe(durationSeconds),
    batchFailed(messages, thrown) {
      failures.inc();
      logger.warn({ messages, err: thrown }, 'usage could not be stored; it comes again');
    },
    backlog: (messages) => backlog.set(messages),
    trimmed: (messages) => logger.info({ messages }, 'removed stored messages from the usage stream'),
    consumerFailed: (thrown) => logger.warn({ err: thrown }, 'the usage stream can not be read; trying on'),
    daysRemoved({ days, events: count }) {
      removedDays.inc(days);
      removedEvents.inc(count);
      logger.info({ days, events: count }, 'removed events of days that are no longer kept');
    },
    retentionFailed(thrown) {
      retentionFailures.inc();
      logger.warn({ err: thrown }, 'days of the ledger could not be made or removed; trying on');
    },
  };
}
